"""API of mem0 over the same memories."""
