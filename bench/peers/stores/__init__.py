"""Peers, used as in their documentation.

A module provides ``open_store(encoder, folder) -> Store``. For ``bench.board`` a store has ``forget`` too,
and where it has one: ``inject``, what it would put into a prompt, and ``check``, its own search for
changes that somebody made to its files.
"""
