"""Coding agents: which sentences said in passing begin the next session."""
