"""Topics: memories grouped by subject in the background.

Enter at ``memory_topics.MemoryTopics``, which is ``engine.topics``. ``editor`` changes the topics of
one scope with the clustering of ``cluster``; ``topic_merging`` merges topics and builds concepts
over them; ``topic_labels`` and ``topic_tags`` name them.
"""

from engrams.upkeep.topics.editor import ACTOR
from engrams.upkeep.topics.memory_topics import MemoryTopics, TopicChangeCounts, TopicGroup

__all__ = ["ACTOR", "MemoryTopics", "TopicChangeCounts", "TopicGroup"]
