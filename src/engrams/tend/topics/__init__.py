"""Memories grouped by what they are about. Off the path; a read uses what is there."""

from engrams.tend.topics.topics import Change as Change
from engrams.tend.topics.topics import Group as Group
from engrams.tend.topics.topics import Topics as Topics
