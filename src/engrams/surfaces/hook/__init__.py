"""Hooks of coding agents: recall into prompts, store messages.

Starts without any heavy import.
"""
