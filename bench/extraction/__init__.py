"""Extraction without a model, measured on labelled turns of real conversations."""
