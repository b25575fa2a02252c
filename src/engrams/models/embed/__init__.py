"""Embedding models: one file per provider, and what wraps them: a cache of queries, retries, the choice from settings."""
