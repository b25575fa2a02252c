"""Entity tags of memories: a tag is the quoted version."""

from __future__ import annotations


def etag(version: int) -> str:
    """Format the entity tag of a version."""
    return f'"{version}"'


def matches_etag(header: str, version: int) -> bool:
    """Return True if the list of tags in a header holds this version.

    ``*`` stands for any version; a weak tag (``W/``) counts like a strong one.
    """
    tags = {tag.strip().removeprefix("W/") for tag in header.split(",")}
    return not tags.isdisjoint(("*", etag(version)))
