"""Purges that a job carries out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import engrams
from engrams import Turn
from engrams.core import Status
from engrams.testing import temp_engine

ANN = ("user", "ann")
BOB = ("user", "bob")
KILLED = """
import os, sys, engrams
engine = engrams.open(home=sys.argv[1], jobs__workers=0)
id = engine.add("I live in Zanzibar", scope=("user", "ann")).id
engine.add("My kettle is green", scope=("user", "ann"))
engine.purge(id, scope=("user", "ann"), later=True)
os._exit(1)
"""


def test_it_is_gone_at_once_and_purged_by_one_job() -> None:
    """With ``later`` no read finds the memories any more, with what was learned from them;
    one job then purges all that waited.
    """
    with temp_engine(jobs__workers=0) as engine:
        ids = [
            engine.add(text, scope=ANN).id
            for text in ("I live in Zanzibar", "I work at Acme", "My sister Lou plays the cello")
        ]
        kept_id = engine.add("My kettle is green", scope=ANN).id
        engine.drain()
        assert not engine.purge(ids[:2], scope=ANN, later=True).proven
        engine.purge(ids[2:], scope=ANN, later=True)
        assert {
            record.text for record in engine.list(scope=ANN).records if record.kind == "note"
        } == {"My kettle is green"}
        hits_text = str(engine.search("Zanzibar Acme cello", scope=ANN, history=True).hits)
        assert not any(word in hits_text for word in ("Zanzibar", "Acme", "cello"))
        assert [
            len(job.payload["items"])
            for job in engine.inspect.jobs(("waiting",))
            if job.kind == "purge"
        ] == [3]
        engine.drain()
        assert {engine.get(id, scope=ANN).status for id in ids} == {Status.PURGED} and engine.get(
            kept_id, scope=ANN
        ).status is Status.ACTIVE
        engine.purge(ids, scope=ANN, later=True)
        engine.drain()


def test_a_process_that_dies_leaves_the_purge_to_the_next(home: Path) -> None:
    """A process killed right after the call has forgotten the memory;
    the next one purges it to the last byte.
    """
    assert subprocess.run([sys.executable, "-c", KILLED, str(home)]).returncode == 1
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        assert "Zanzibar" not in str(engine.search("Zanzibar", scope=ANN).hits)
        engine.drain()
    home_bytes = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert b"Zanzibar" not in home_bytes and b"kettle" in home_bytes


def test_facts_of_one_message_leave_it_together() -> None:
    """Two facts of one message that are purged later are both taken out of it, at once and for
    good.
    """
    with temp_engine(jobs__workers=0) as engine:
        receipts = engine.observe(
            Turn("I live in Zanzibar. I work at Acme. My sister Lou plays the cello every Sunday."),
            scope=ANN,
        )[0].id
        engine.drain()
        facts = [
            record
            for record in engine.list(scope=ANN, kinds=("fact",)).records
            if "Zanzibar" in record.text or "Acme" in record.text
        ]
        assert len(facts) == 2
        engine.purge([fact.id for fact in facts], scope=ANN, later=True)
        for _ in range(2):
            text = engine.get(receipts, scope=ANN).text
            assert "Zanzibar" not in text and "Acme" not in text and "cello" in text
            engine.drain()


def test_another_owner_s_memory_is_not_reached() -> None:
    """An id of another owner is refused, and nothing is forgotten."""
    with temp_engine(jobs__workers=0) as engine:
        id = engine.add("I live in Zanzibar", scope=BOB).id
        try:
            engine.purge(id, scope=ANN, later=True)
        except engrams.EngramsError:
            pass
        else:
            raise AssertionError("it was reached")
        assert engine.get(id, scope=BOB).status is Status.ACTIVE
