"""The HTTP server: one socket for every part of engrams that speaks HTTP."""
