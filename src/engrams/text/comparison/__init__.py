"""Comparison of statements by what they say to a reader, with a table of words per language."""
