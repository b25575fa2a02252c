"""Commands asked of a running process of the same home and user."""
