"""The web page: static files, and what they must be served with."""
