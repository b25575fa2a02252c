"""Topics: memories grouped by subject in the background."""

from engrams.tend.topics.memorytopics import MemoryTopics as MemoryTopics
from engrams.tend.topics.memorytopics import TopicChangeCounts as TopicChangeCounts
from engrams.tend.topics.memorytopics import TopicGroup as TopicGroup
