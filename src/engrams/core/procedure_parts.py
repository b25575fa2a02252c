"""Metadata of a procedure."""

PREREQUISITES = "prerequisites"
"""List of what has to be so before a procedure begins."""
WARNINGS = "warnings"
"""List of what a procedure warns of."""
