"""Answers that a reader gives from contexts alone, judged blind."""
