"""Other memories on Postgres, used as in their documentation.

A module provides ``open_store(url, folder) -> Store``; it runs in the environment of its own that
``bench/peers/pins`` lists.
"""
