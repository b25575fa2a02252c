"""HTTP server: one socket for API, proxy and page."""
