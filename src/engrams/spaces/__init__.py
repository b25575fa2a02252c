"""Spaces: memories that several people of one server share, with their members and roles.

A space is an owner of its own, ``("space", NAME)``; one that got the name of a deleted space has
a number behind it. So everything that holds for a person's memory
holds for a space, and no query of one reaches another. ``registry`` says who may enter it;
``engine.shared_reads`` joins what a person reads with what the person's spaces hold.
"""

from engrams.spaces.registry import (
    SPACE_LABEL,
    SharedLog,
    Space,
    SpaceMember,
    SpaceRegistry,
    SpaceRole,
    find_space_name,
    name_generation,
)

__all__ = [
    "SPACE_LABEL",
    "SharedLog",
    "Space",
    "SpaceMember",
    "SpaceRegistry",
    "SpaceRole",
    "find_space_name",
    "name_generation",
]
