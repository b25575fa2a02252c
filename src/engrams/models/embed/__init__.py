"""Embedding models: one file per provider."""
