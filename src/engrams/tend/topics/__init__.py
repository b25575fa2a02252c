"""Topics: memories grouped by subject in the background."""

from engrams.tend.topics.topics import MemoryTopics as MemoryTopics
from engrams.tend.topics.topics import TopicChange as TopicChange
from engrams.tend.topics.topics import TopicGroup as TopicGroup
