"""Cleaning of texts before they are stored."""

from __future__ import annotations

import hashlib
import unicodedata

from engrams.errors import InputError

_INVISIBLE = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp", "Zs"))
"""Unicode categories of white space and of what shows nothing, such as a zero-width space or a
direction mark.
"""


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


def drop_faults(text: str) -> str:
    """Return a text without NUL and lone surrogates."""
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def shorten_name(name: str, limit: int) -> str:
    """Shorten a name; a hash of the whole keeps long ones apart."""
    if len(name) <= limit:
        return name
    data = name.encode("utf-8", "surrogatepass")
    return f"{name[: limit - 17]}~{hashlib.blake2b(len(data).to_bytes(8, 'big') + data, digest_size=16).hexdigest()[:16]}"


def clean_text(text: str, limit: int) -> str:
    """Clean a text for storage.

    No NUL, no lone surrogates, stripped; InputError if nothing in it is visible, or over ``limit``
    bytes.
    """
    if not isinstance(text, str):
        raise InputError(f"A text is needed, not {type(text).__name__}.")
    kept = drop_faults(text).strip()
    require_visible(kept)
    size = len(kept.encode("utf-8"))
    if size > limit:
        raise InputError(
            f"The text has {size:,} bytes; the limit is {limit:,}.",
            hint="Split it, import it as a file, or raise `limits.text_bytes`.",
        )
    return kept
