"""Options of a chat request that keep memory out of it: off, incognito and the mode.

`read_skip_reason` is the entry. Whatever could mean incognito is incognito; what is unclear is
refused. A request that asked for privacy in the wrong words must not be stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from engrams.core import Json
from engrams.errors import InputError

SkipReason = Literal["", "disabled", "off", "incognito"]
"""Reason why a request is answered without memory; empty: it uses memory."""

_OPTIONS = frozenset(
    {"user", "project", "conversation", "session", "top_k", "off", "incognito", "mode"}
)
_INCOGNITO_MODES = frozenset({"incognito", "guest"})
_STORING_MODES = frozenset({"", "local", "synced"})
_TRUE_WORDS = frozenset({"true", "yes", "on", "1"})
_FALSE_WORDS = frozenset({"false", "no", "off", "0", ""})


class UnclearPrivacyError(InputError):
    """A request asks for something about memory that cannot be understood."""


def read_skip_reason(memory: Json, *, enabled: bool) -> SkipReason:
    """Read the field ``memory`` of a request; ``enabled``: memory is on at all.

    A text alone is a mode. UnclearPrivacyError: an option, a switch or a mode is unknown.
    """
    if not enabled:
        return "disabled"
    options: Mapping[str, Json] = {}
    if isinstance(memory, str):
        options = {"mode": memory}
    elif isinstance(memory, dict):
        options = memory
    unknown = sorted(set(options) - _OPTIONS)
    if unknown:
        raise UnclearPrivacyError(
            f"`memory` has no option {unknown[0]!r}.",
            hint=f"Its options are {', '.join(sorted(_OPTIONS))}.",
        )
    # Both are read before either counts: an unclear one is refused beside a clear one.
    is_incognito = _read_switch("incognito", options.get("incognito"))
    is_off = _read_switch("off", options.get("off"))
    if _is_incognito_mode(options.get("mode")) or is_incognito:
        return "incognito"
    return "off" if is_off else ""


def _read_switch(name: str, value: Json) -> bool:
    if value is None or isinstance(value, bool):
        return bool(value)
    word = str(value).strip().casefold() if isinstance(value, str | int) else "?"
    if word in _TRUE_WORDS:
        return True
    if word in _FALSE_WORDS:
        return False
    raise UnclearPrivacyError(
        f"`memory.{name}` is true or false, not {value!r}.", hint="Nothing was stored."
    )


def _is_incognito_mode(value: Json) -> bool:
    mode = "" if value is None else value
    word = mode.strip().casefold() if isinstance(mode, str) else "?"
    if word in _INCOGNITO_MODES:
        return True
    if word in _STORING_MODES:
        return False
    raise UnclearPrivacyError(
        f"There is no mode {value!r}.", hint="The modes are local, synced, incognito and guest."
    )
