"""Recorded sessions of coding agents, played again through the hook command."""
