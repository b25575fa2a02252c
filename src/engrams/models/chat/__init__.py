"""Chat models over servers, functions and clients.

One file per kind of server; retries, corrections, meter and budget are shared.
"""
