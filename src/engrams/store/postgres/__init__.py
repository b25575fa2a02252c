"""Postgres store: one database for any number of processes."""
