"""Scenarios of changing and unchanging facts, and how much of them memory gets right."""
