"""Chat models: one file per kind of server."""
