"""Statements in German, Spanish, French and Chinese by sentence forms."""
