"""Protocols of other products, answered from the same memories."""
