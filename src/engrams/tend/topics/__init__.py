"""Topics: memories grouped by subject in the background."""

from engrams.tend.topics.memorytopics import MemoryTopics, TopicChangeCounts, TopicGroup

__all__ = ["MemoryTopics", "TopicChangeCounts", "TopicGroup"]
