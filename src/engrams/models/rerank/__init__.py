"""Rerankers: a local cross-encoder, a rerank server, or a chat model."""
