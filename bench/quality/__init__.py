"""Evidence recall: share of the turns found that answer a question."""
