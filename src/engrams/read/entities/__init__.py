"""Entities: people, places and other things that memories mention."""
