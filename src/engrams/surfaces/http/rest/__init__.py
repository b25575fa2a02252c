"""REST API: memory as resources under /v1."""
