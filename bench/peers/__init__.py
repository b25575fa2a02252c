"""Comparison with other memories: same data, machine, questions and embedder."""
