"""Rerankers: a cross-encoder on this machine, a rerank server, or a chat model asked which memories help."""
