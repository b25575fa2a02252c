"""Shared parts of stores in SQL databases; each adds its dialect."""
