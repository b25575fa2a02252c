"""Hooks of coding agents: what is remembered goes into their prompts, what is said is kept. Starts without any heavy import."""
