"""Scopes: whose memory a record is part of, and which part."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from engrams.errors import ScopeError

_MAX_LABELS = 16
_MAX_LABEL_CHARS = 200
_UNFIT_CATEGORIES = ("Cc", "Cs")
"""Unicode categories of characters that no label has: control characters, lone surrogates."""
_DIGEST_BYTES = 8
"""Of the hash in the name of a conversation whose id no label can hold."""
_SCOPE_HINT = (
    'Write ("user", "alice"), {"user": "alice"} or ("user", "alice", "project", "garden").'
)
_CONVERSATION_LABELS = frozenset({"conversation", "session", "thread", "chat"})
GLOBAL = "global"
"""Conversation whose memory all others see: texts told there are stored above it."""
_AGENT_LABEL = "agent"
"""The name that belongs to the last of an odd number of labels."""
_PAIR_NAMES = frozenset({"user", "project", _AGENT_LABEL, *_CONVERSATION_LABELS})
"""Labels that want a value: alone at the end, the value was forgotten."""


@dataclass(frozen=True, slots=True, order=True)
class Scope:
    """An owner's memory or a part of it: ``Scope(("user", "alice", "project", "x"))``.

    The first pair of labels, or the only label, is the owner. It comes first in every key and index
    of a store, so that no other owner's query can reach the memory.
    """

    labels: tuple[str, ...]
    """Pairs of name and value, at most eight; or one label alone.

    Each has 1 to 200 characters, none of them a control character. ``Scope.of`` makes pairs of an
    odd number of labels: the last one is the name of an agent.
    """

    def __post_init__(self) -> None:
        if not self.labels or not all(_is_label(label) for label in self.labels):
            raise ScopeError("A scope needs an owner: its labels must be non-empty text.")
        if len(self.labels) > _MAX_LABELS or any(
            len(label) > _MAX_LABEL_CHARS for label in self.labels
        ):
            raise ScopeError(
                f"A scope has at most {_MAX_LABELS} labels of {_MAX_LABEL_CHARS} characters."
            )
        if any(_has_control_character(label) for label in self.labels):
            raise ScopeError(
                "A scope label contains a control character.",
                hint="Use letters, digits and punctuation.",
            )

    @classmethod
    def of(cls, value: ScopeInput | None, **variables: str) -> Scope:
        """Make a scope from labels, given as a tuple or a dict, or from one string.

        Labels go in pairs. The last of an odd number is an agent: ``("org", "acme", "guide")`` is
        ``("org", "acme", "agent", "guide")``. Labels may be templates:
        ``Scope.of(("memories", "{user_id}"), user_id="alice")``.

        ScopeError: a variable is missing (the message names the ones that were given), ``user`` or
        ``project`` has no value, or ``value`` has none of these forms.
        """
        labels = _read_labels(value)
        if not labels or not all(_is_label(label) for label in labels):
            raise ScopeError(
                f"The labels of a scope are non-empty texts, unlike in {value!r:.80}.",
                hint=_SCOPE_HINT,
            )
        is_odd = len(labels) % 2 == 1
        if is_odd and not isinstance(value, str) and labels[-1] in _PAIR_NAMES:
            raise ScopeError(
                f"In the scope {value!r:.80} the value of {labels[-1]!r} is missing.",
                hint=_SCOPE_HINT,
            )
        if is_odd and len(labels) > 1:
            labels = (*labels[:-1], _AGENT_LABEL, labels[-1])
        elif isinstance(value, Scope):
            return value
        return cls(_fill_templates(labels, variables))

    @classmethod
    def parse(cls, key: str) -> Scope:
        """Parse ``key``, the text form of a scope."""
        return _parse_key(key)

    @property
    def key(self) -> str:
        """Text form, such as ``user/alice/project/x``; ``/`` and ``%`` in labels are escaped."""
        # No label holds a control character, so NUL can join them before the escapes.
        return "\0".join(self.labels).replace("%", "%25").replace("/", "%2F").replace("\0", "/")

    @property
    def owner(self) -> Scope:
        """The scope of all memory of the same owner."""
        return self if self.is_owner else Scope(self.labels[:2])

    @property
    def is_owner(self) -> bool:
        """True for a scope of an owner's whole memory."""
        return len(self.labels) <= 2

    @property
    def destination(self) -> Scope:
        """Scope in which texts told here are stored: of the conversation GLOBAL the one above.

        A read of that conversation sees what is stored above it, and no other conversation.
        """
        is_global = self.labels[-2:] == ("conversation", GLOBAL) and not self.is_owner
        return Scope(self.labels[:-2]) if is_global else self

    @property
    def durable(self) -> Scope:
        """Scope without the conversations at its end.

        The facts of a person hold across conversations, those of a project within it.
        """
        labels = self.labels
        while len(labels) > 2 and labels[-2] in _CONVERSATION_LABELS:
            labels = labels[:-2]
        return self if len(labels) == len(self.labels) else Scope(labels)

    def chain(self) -> tuple[Scope, ...]:
        """List the scopes that a read in this one sees: itself and those above, nearest first.

        A user below another user is a person of their own: nothing above them is theirs.
        """
        names = self.labels[::2] if self.labels[0] == "user" else ()
        deepest_user = max((depth for depth, name in enumerate(names) if name == "user"), default=0)
        person = Scope(self.labels[: 2 * deepest_user + 2]) if deepest_user else self.owner
        inner = range(len(self.labels), len(person.labels), -2)
        return (*(Scope(self.labels[:end]) for end in inner), person)

    def find(self, label: str) -> str:
        """Return the name that belongs to a label, such as ``project``; empty for none."""
        return dict(zip(self.labels[::2], self.labels[1::2], strict=False)).get(label, "")

    def within(self, label: str, name: str) -> Scope:
        """Make a scope one step deeper: ``scope.within("conversation", "c1")``."""
        return Scope((*self.labels, label, name))

    def __str__(self) -> str:
        return self.key


ScopeInput: TypeAlias = Scope | str | Sequence[str] | Mapping[str, str]
"""Accepted forms of a scope: itself, pairs of labels as a tuple or a dict, or one label as a
string.
"""


def conversation(scope: Scope, session: str) -> tuple[Scope, str]:
    """Return the scope and session that identify one conversation.

    A scope whose last pair names a conversation is one, whatever the session; otherwise it is the
    session within the scope.
    """
    scope = scope.destination
    is_conversation = not scope.is_owner and scope.labels[-2] in _CONVERSATION_LABELS
    return (scope, "") if is_conversation else (scope, session)


def to_conversation_name(id: str) -> str:
    """Return the name of a conversation in a scope, for any id that a client gives it.

    An id that a scope can hold is its own name. In others control characters are read as ``_``, and
    a hash keeps them apart.
    """
    if len(id) <= _MAX_LABEL_CHARS and not _has_control_character(id):
        return id
    printable_id = "".join(
        "_" if unicodedata.category(character) in _UNFIT_CATEGORIES else character
        for character in id
    )
    encoded_id = id.encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(encoded_id, digest_size=_DIGEST_BYTES).hexdigest()
    return f"{printable_id[: _MAX_LABEL_CHARS - len(digest) - 1]}~{digest}"


def _is_label(label: object) -> bool:
    return isinstance(label, str) and bool(label.strip())


def _has_control_character(label: str) -> bool:
    # ``isprintable`` is quick and true of nearly every label; it also refuses harmless characters.
    if label.isprintable():
        return False
    return any(unicodedata.category(character) in _UNFIT_CATEGORIES for character in label)


def _read_labels(value: ScopeInput | None) -> tuple[str, ...]:
    """Return the labels of an accepted form."""
    if isinstance(value, Scope):
        return value.labels
    if isinstance(value, str):
        if "/" in value:
            raise ScopeError(
                f"The scope {value!r:.80} is one label with a slash, not a path.",
                hint=_SCOPE_HINT,
            )
        return (value,)
    if isinstance(value, Mapping):
        return tuple(label for pair in value.items() for label in pair)
    if isinstance(value, (tuple, list)):
        return tuple(value)
    raise ScopeError(
        f"A scope consists of pairs of labels, not of {value!r:.80}.", hint=_SCOPE_HINT
    )


def _fill_templates(labels: tuple[str, ...], variables: Mapping[str, str]) -> tuple[str, ...]:
    try:
        return tuple(
            label.format_map(variables) if variables or "{" in label else label for label in labels
        )
    except (KeyError, IndexError, ValueError) as problem:
        names = ", ".join(sorted(variables)) or "none"
        raise ScopeError(
            f"The scope template {labels!r} needs {problem}; given: {names}."
        ) from None


@lru_cache(maxsize=4096)
def _parse_key(key: str) -> Scope:
    return Scope(tuple(part.replace("%2F", "/").replace("%25", "%") for part in key.split("/")))
