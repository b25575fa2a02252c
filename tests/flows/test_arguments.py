"""Arguments of the engine's methods that they cannot take."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

import engrams
from engrams import Turn
from engrams.core import Kind
from engrams.errors import InputError

ALICE = ("user", "alice")


def test_what_a_method_cannot_take_is_said(home: Path) -> None:
    """A value of another type, or a count below its least, raises InputError with the argument's
    name; no read is silently empty.
    """
    with engrams.open(home=home) as memory:
        memory.add("I keep bees.", scope=ALICE)
        wrong: Any = None
        for read in (memory.search, memory.explain, memory.context, memory.format_for_injection):
            with pytest.raises(InputError, match="query must be text, not NoneType"):
                read(wrong, scope=ALICE)
        for number in ("3", -1, 1.5):
            for find in (memory.search, memory.explain, memory.context):
                with pytest.raises(InputError, match="limit must be a whole number from 0"):
                    find("bees", scope=ALICE, limit=cast("Any", number))
            with pytest.raises(InputError, match="tokens must be a whole number from 0"):
                memory.context("bees", scope=ALICE, tokens=cast("Any", number))
            with pytest.raises(InputError, match="limit must be a whole number from 1"):
                memory.list(scope=ALICE, limit=number)
        unfit = {
            "text of a list must be text": {"text": 3},
            "after of a list": {"after": 3},
            "no order": {"order": "up"},
            "iterable": {"kinds": 3},
        }
        for said, fields in unfit.items():
            with pytest.raises(InputError, match=said):
                memory.list(scope=ALICE, **cast("Any", fields))
        with pytest.raises(InputError, match="as_of is not a time"):
            memory.search("bees", scope=ALICE, as_of=cast("Any", 3))
        for turns in (None, "I keep goats.", {"role": "user", "content": "I keep goats."}, [3]):
            with pytest.raises(InputError, match="A Turn or a list of them"):
                memory.observe(cast("Any", turns), scope=ALICE)
        for name, value in (
            ("at", "2025-01-01"),
            ("meta", 3),
            ("speaker", 3),
            ("session", 3),
            ("role", None),
        ):
            with pytest.raises(InputError, match=r"of a turn must be|is not an object"):
                memory.observe(Turn("I keep goats.", **cast("Any", {name: value})), scope=ALICE)
        for several in (memory.purge, memory.used):
            with pytest.raises(InputError, match="Ids are needed"):
                several(wrong, scope=ALICE)
        for messages in (None, [3]):
            with pytest.raises(InputError, match="message"):
                memory.deliver(cast("Any", messages), scope=ALICE, session="s")
        with pytest.raises(InputError, match="content is text"):
            memory.manage(wrong, scope=ALICE)
        assert [record.text for record in memory.list(scope=ALICE, kinds=(Kind.NOTE,)).records] == [
            "I keep bees."
        ]
