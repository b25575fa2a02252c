"""Topics: memories grouped by subject in the background."""

from engrams.upkeep.topics.topics import MemoryTopics, TopicChangeCounts, TopicGroup

__all__ = ["MemoryTopics", "TopicChangeCounts", "TopicGroup"]
