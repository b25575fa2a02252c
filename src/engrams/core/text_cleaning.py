"""Cleaning of texts before they are stored."""

from __future__ import annotations

import hashlib
import unicodedata

from engrams.errors import InputError

_INVISIBLE = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp", "Zs"))
"""Unicode categories of white space and of invisible characters, such as a zero-width space."""


def is_blank(text: str) -> bool:
    """Return True for a text without a visible character."""
    return all(unicodedata.category(char) in _INVISIBLE for char in text)


def strip_blank(text: str) -> str:
    """Strip a text; empty where nothing in it is visible."""
    return "" if is_blank(text) else text.strip()


def require_visible(text: str) -> None:
    """Raise InputError for a text without a visible character."""
    if is_blank(text):
        raise InputError("The text is empty.", hint="Give at least one visible character.")


def drop_unstorable(text: str) -> str:
    """Remove NUL, which Postgres cannot store, and replace lone surrogates by ``?``."""
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def shorten_name(name: str, limit: int) -> str:
    """Shorten a name to ``limit`` characters; a hash of the whole keeps long ones apart."""
    if len(name) <= limit:
        return name
    data = name.encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(len(data).to_bytes(8, "big") + data, digest_size=16).hexdigest()
    return f"{name[: limit - 17]}~{digest[:16]}"


def clean_text(text: str, limit: int) -> str:
    """Clean a text for storage: no NUL, no lone surrogates, no white space around it.

    InputError: nothing in it is visible, or it has more than ``limit`` bytes.
    """
    if not isinstance(text, str):
        raise InputError(f"A text is needed, not {type(text).__name__}.")
    cleaned = drop_unstorable(text).strip()
    require_visible(cleaned)
    size = len(cleaned.encode("utf-8"))
    if size > limit:
        raise InputError(
            f"The text has {size:,} bytes; the limit is {limit:,}.",
            hint="Split it, import it as a file, or raise `limits.text_bytes`.",
        )
    return cleaned
