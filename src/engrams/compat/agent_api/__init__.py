"""API under /api: one agent's tiers, and the owner's control of memory."""
