"""Peers, used as in their documentation.

A module provides ``open_store(encoder, folder) -> Store``.
"""
