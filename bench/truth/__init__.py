"""Check of what memory holds true after changes, marks and lost clauses included."""
