"""The API under /api: one agent's tiers, looked at and moved, and memory as its owner controls it."""
