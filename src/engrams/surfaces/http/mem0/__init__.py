"""The API that clients of mem0 know, over the same memories."""
