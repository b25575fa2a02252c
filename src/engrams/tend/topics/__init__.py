"""Memories grouped by what they are about. Off the path; a read uses what is there."""

from engrams.tend.topics.topics import MemoryTopics as MemoryTopics
from engrams.tend.topics.topics import TopicChange as TopicChange
from engrams.tend.topics.topics import TopicGroup as TopicGroup
