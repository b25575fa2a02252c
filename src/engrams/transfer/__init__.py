"""Memories in and out of the house.

``formats`` reads and writes files; ``imports`` stores what a file holds and can undo it;
``exports`` writes a scope to a file; ``uploads`` receives large files in pieces; ``webhooks`` tells
other services about changes.
"""
