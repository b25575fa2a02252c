"""Learned detector of changes between messages."""
