"""Hooks of coding agents: recall into prompts, store messages."""
