"""What was purged is not left in this process's memory either."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import Kind
from engrams.settings import presets
from engrams.testing import SettableClock, temp_engine

ANN = ("user", "ann")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
FAST = ("default",)


def word() -> str:
    """A word that stands in no source, so that only memory can hold it."""
    return "".join(reversed("dnilbredzrehpiz"))


def holders(needle: str) -> Iterator[str]:
    """What holds a string with the needle in it:
    everything that the collector knows of, and what is reachable from there.
    """
    gc.collect()
    seen_ids: set[int] = set()
    queue: list[object] = gc.get_objects()
    mine = {id(queue), id(seen_ids)}
    while queue:
        unseen = [item for item in queue if id(item) not in seen_ids and id(item) not in mine]
        seen_ids.update(map(id, unseen))
        queue = []
        mine.add(id(queue))
        for one in unseen:
            for referent in gc.get_referents(one):
                if isinstance(referent, str | bytes | bytearray):
                    text = (
                        referent
                        if isinstance(referent, str)
                        else bytes(referent).decode("utf-8", "replace")
                    )
                    if needle in text.lower() and referent is not needle:
                        yield (
                            f"{type(one).__module__}.{type(one).__qualname__}:"
                            f" {text[:80].lower().replace(needle, '***')!r}"
                        )
                elif not gc.is_tracked(referent) and isinstance(referent, tuple | dict | list):
                    queue.append(referent)


def live(engine: MemoryEngine) -> list[str]:
    """A conversation with a secret in it, through every door that reads and writes;
    the ids of what holds the secret.
    """
    secret = word()
    texts = [
        f"The password of my boat's {secret} locker is {secret}, and my sister is called Ada.",
        f"My favourite colour is {secret}.",
        f"No, actually my favourite colour is {secret} blue.",
        "I live in Porto and work at the harbour.",
        "I work at the brewery now.",
    ]
    for number, text in enumerate(texts):
        engine.add(Turn(text, session="s1"), scope=ANN)
        engine.deliver(
            f"What do you know of {secret} and my favourite colour?", scope=ANN, session="s1"
        )
        engine.observe(
            Turn(f"So it is {secret}, noted ({number}).", role="assistant", session="s1"), scope=ANN
        )
    engine.drain()
    for query in (secret, f"the {secret} locker's password", "favourite colour", "harbour"):
        engine.search(query, scope=ANN)
        engine.explain(query, scope=ANN, history=True)
        engine.context(query, scope=ANN, session="s1")
    engine.edit(
        engine.add(f"A note on {secret}.", scope=ANN).id,
        text=f"Another note on {secret}.",
        scope=ANN,
    )
    engine.drain()
    records = engine.list(scope=ANN, limit=500, statuses=()).records
    return [
        record.id
        for record in records
        if secret in f"{record.text}{record.summary}{record.meta}{record.object}".lower()
    ]


@pytest.mark.parametrize(
    "preset",
    [
        preset if preset in FAST else pytest.param(preset, marks=pytest.mark.slow)
        for preset in presets()
    ],
)
@pytest.mark.slow
def test_after_a_purge_no_memory_of_this_process_holds_the_text(home: Path, preset: str) -> None:
    """Whatever was said, found, rendered and counted before:
    no cache, ring, index or queue has a word of it after the purge.
    """
    with engrams.open(
        home=str(home), preset=preset, jobs__workers=0, clock=SettableClock(START)
    ) as engine:
        ids = live(engine)
        assert len(ids) >= 8
        assert any(holders(word()))
        engine.purge(ids, scope=ANN)
        assert list(holders(word())) == []


@pytest.mark.slow
def test_files_leave_nothing_behind_either(home: Path) -> None:
    """With memory as files, what read and wrote them holds nothing of a purged text."""
    with engrams.open(
        home=str(home),
        vault__enabled=True,
        vault__git=False,
        jobs__workers=0,
        clock=SettableClock(START),
    ) as engine:
        ids = live(engine)
        engine.purge(ids, scope=ANN)
        assert list(holders(word())) == []


@pytest.mark.slow
def test_a_purge_elsewhere_is_noticed(home: Path) -> None:
    """What another process purged is forgotten here too, as soon as this one reads that owner's
    memory again.
    """
    with engrams.open(home=str(home), jobs__workers=0, clock=SettableClock(START)) as engine:
        ids = live(engine)
        assert any(holders(word()))
        code = (
            f"import engrams; engrams.open(home={str(home)!r}, jobs__workers=0).purge({ids!r},"
            f" scope={ANN!r})"
        )
        subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
        engine.search("harbour", scope=ANN)
        assert list(holders(word())) == []


def test_purging_one_message_leaves_the_others_of_its_session_whole() -> None:
    """The account of the session quotes all of them: it goes, and what else it quotes stays."""
    owner = ("user", "ada")
    texts = [
        f"Parcel {name} waits in the hall of house {number}."
        for number, name in enumerate(("one", "two", "three"))
    ]
    with temp_engine(jobs__workers=0) as memory:
        receipts = memory.observe([Turn(text, session="s") for text in texts], scope=owner)
        memory.sessions.end("s", scope=owner)
        memory.drain()
        assert any(
            texts[0] in record.text
            for record in memory.list(scope=owner, kinds=(Kind.EPISODE,)).records
        )
        assert memory.purge(receipts[0].id, scope=owner).proven
        assert {record.text for record in memory.list(scope=owner).records} == set(texts[1:])
