"""The forms in which a scope may be given, through the engine."""

from __future__ import annotations

from typing import Any

import pytest

from engrams.core import Scope
from engrams.errors import ScopeError
from engrams.testing import temp_engine

ODD: tuple[Any, ...] = (
    "user/alice",
    ("user",),
    ["user"],
    ("user", "alice", "project"),
    Scope(("user", "alice", "project")),
    {"user", "alice"},
    frozenset({"user"}),
    ("user", ""),
    ("user", "  "),
    ("user", 7),
    {"user": None},
    {7: "alice"},
    {},
    b"user",
    7,
    None,
    (part for part in ("user", "alice")),
)


def test_a_dict_and_pairs_name_the_same_memory_and_nobody_elses() -> None:
    """A dict is read as pairs in their order;
    another user of the same program sees nothing of it.
    """
    with temp_engine() as engine:
        engine.add("The key to the shed hangs in the cellar", scope={"user": "alice"})
        engine.add("The tomatoes need water", scope={"user": "alice", "project": "garden"})
        assert engine.scopes() == (
            Scope(("user", "alice")),
            Scope(("user", "alice", "project", "garden")),
        )
        for same in (
            {"user": "alice"},
            ("user", "alice"),
            ["user", "alice"],
            Scope(("user", "alice")),
        ):
            assert engine.search("Where is the key to the shed?", scope=same).hits
        assert not engine.search("Where is the key to the shed?", scope={"user": "bob"}).hits
        engine.add("Everyone meets at noon", scope="shared")
        assert engine.search("When do we meet?", scope=Scope(("shared",))).hits


@pytest.mark.parametrize(
    "odd", ODD, ids=[f"{type(odd).__name__}-{place}" for place, odd in enumerate(ODD)]
)
def test_anything_else_is_refused_with_the_right_form(odd: Any) -> None:
    """Nothing is stored for it, whichever method was called."""
    with temp_engine() as engine:
        calls = (
            lambda: engine.add("A secret", scope=odd),
            lambda: engine.search("secret", scope=odd),
            lambda: engine.context("secret", scope=odd),
            lambda: engine.list(scope=odd),
            lambda: engine.purge("x", scope=odd),
            lambda: engine.sessions.begin("s", scope=odd),
        )
        for call in calls[: 3 if odd is None else None]:
            with pytest.raises(ScopeError) as raised:
                call()
            assert '("user", "alice")' in raised.value.hint
        assert engine.scopes() == ()


def test_the_conversation_global_is_its_owners_own() -> None:
    """What is told there is stored above it, also below a project; an owner may have these labels."""
    with temp_engine() as engine:
        for scope in (
            ("user", "alice", "conversation", "global"),
            ("user", "alice", "project", "garden", "conversation", "global"),
            ("conversation", "global"),
        ):
            engine.add("The tomatoes need water", scope=scope)
        assert engine.scopes() == (
            Scope(("conversation", "global")),
            Scope(("user", "alice")),
            Scope(("user", "alice", "project", "garden")),
        )
