"""Speed of a fleet's memory: Postgres beside files, for a grid of owners and records."""
