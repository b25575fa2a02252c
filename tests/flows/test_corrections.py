"""A correction reaches what it corrects, through the engine."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from engrams import MemoryEngine, Turn
from engrams.core import Kind, Record, Scope, Status
from engrams.errors import InputError
from engrams.testing import ScriptedModel, temp_engine

ANN = ("user", "ann")
ANN_SCOPE = Scope(ANN)
JANUARY = datetime(2026, 1, 2, tzinfo=UTC)
MAY = datetime(2026, 5, 2, tzinfo=UTC)
ALONE = "I'm allergic to cashews."
BOTH = "I'm allergic to cashews and I live in Berlin."


def derived(engine: MemoryEngine, word: str) -> Record:
    """The fact with this word."""
    return next(
        record
        for record in engine.list(scope=ANN).records
        if record.evidence and word in record.text
    )


def shown(engine: MemoryEngine, query: str = "What am I allergic to?") -> str:
    """Everything that a search and a context return."""
    hits = engine.search(query, scope=ANN).hits
    return " ".join(
        [*(hit.record.text + hit.snippet for hit in hits), engine.context(query, scope=ANN).text]
    )


def change(engine: MemoryEngine, action: str, record: Record) -> None:
    """Edit, forget or purge one memory."""
    if action == "edit":
        engine.edit(record.id, scope=ANN, text="The user is allergic to pecans")
    else:
        if action == "forget":
            engine.forget(record.id, scope=ANN)
        else:
            engine.purge(record.id, scope=ANN)


@pytest.mark.parametrize(
    ("action", "status"),
    [("edit", Status.SUPERSEDED), ("forget", Status.FORGOTTEN), ("purge", Status.PURGED)],
)
def test_the_only_source_goes_with_its_statement(action: str, status: Status) -> None:
    """A message that said only this is superseded, forgotten or purged too."""
    with temp_engine() as engine:
        source = engine.add(ALONE, scope=ANN).id
        fact = derived(engine, "cashews")
        assert engine.preview([fact.id], action, ANN).sources[0].effect == status.value
        assert "cashews" in shown(engine)
        change(engine, action, fact)
        assert engine.get(source, scope=ANN).status is status
        assert "cashews" not in shown(engine)
        assert ("pecans" in shown(engine)) is (action == "edit")


@pytest.mark.parametrize("kind", [Kind.NOTE, Kind.TURN])
def test_a_message_of_the_past_goes_with_its_statement(kind: Kind) -> None:
    """What was replaced is forgotten with the message that said it, in reads of the past too, and
    is as it was after a restore.
    """
    with temp_engine(jobs__workers=0) as engine:
        message_id = engine.add(
            Turn("I live in Berlin", "user", "", JANUARY), scope=ANN, kind=kind
        ).id
        fact = derived(engine, "Berlin")
        engine.add(Turn("I moved to Munich", "user", "", MAY), scope=ANN, kind=kind)
        before = [engine.get(record_id, scope=ANN) for record_id in (message_id, fact.id)]
        assert before[1].status is Status.SUPERSEDED
        assert engine.preview([fact.id], "forget", ANN).sources[0].effect == "forgotten"
        engine.forget(fact.id, scope=ANN)
        assert not engine.search(
            "Where do I live?", scope=ANN, as_of=JANUARY + timedelta(days=9)
        ).hits
        assert "Munich" in shown(engine, "Where do I live?") and "Berlin" not in shown(
            engine, "Where do I live?"
        )
        engine.restore(fact.id, scope=ANN)
        after = [engine.get(record_id, scope=ANN) for record_id in (message_id, fact.id)]
        assert [replace(record, version=0) for record in after] == [
            replace(record, version=0) for record in before
        ]
        assert engine.search("Where do I live?", scope=ANN, as_of=JANUARY + timedelta(days=9)).hits


def test_a_message_of_the_past_that_says_more_keeps_the_rest() -> None:
    """Of a note that another statement keeps, only the words of the forgotten one are left out."""
    with temp_engine(jobs__workers=0) as engine:
        message_id = engine.add(
            Turn("I live in Berlin. My dog is called Bruno.", "user", "", JANUARY),
            scope=ANN,
            kind=Kind.NOTE,
        ).id
        fact = derived(engine, "Berlin")
        engine.add(Turn("I moved to Munich", "user", "", MAY), scope=ANN)
        engine.forget(fact.id, scope=ANN)
        assert engine.get(message_id, scope=ANN).status is Status.ACTIVE
        hits = engine.search(
            "Where do I live? What is my dog called?", scope=ANN, as_of=JANUARY + timedelta(days=9)
        ).hits
        shown = " ".join(hit.record.text + hit.snippet for hit in hits)
        assert "Bruno" in shown and "Berlin" not in shown


@pytest.mark.parametrize("preset", ["default", "proxy"])
def test_the_corrected_fact_stands_beside_the_shortened_message(preset: str) -> None:
    """What the message no longer says is said by its fact, also where the question shares words
    with the rest of the message.
    """
    with temp_engine(preset=preset) as engine:
        engine.add(Turn("I work at Acme and my boss is called Frida."), scope=ANN)
        engine.edit(derived(engine, "Frida").id, scope=ANN, text="The user's boss is called Greta")
        shown = engine.context("Who is my boss at Acme?", scope=ANN).text
        assert "Greta" in shown and "Frida" not in shown and shown.count("Greta") == 1


@pytest.mark.parametrize(
    ("action", "mark"), [("edit", "[corrected on "), ("forget", "[forgotten]")]
)
def test_a_source_that_says_more_keeps_the_rest(action: str, mark: str) -> None:
    """Reads leave out the quoted words; the other fact and the stored text stay."""
    with temp_engine() as engine:
        source = engine.add(BOTH, scope=ANN).id
        fact = derived(engine, "cashews")
        assert engine.preview([fact.id], action, ANN).sources[0].effect == "shortened"
        change(engine, action, fact)
        assert "cashews" not in shown(engine, "Where do I live?")
        assert "cashews" not in shown(engine, "cashews")
        assert mark in shown(engine, "Where do I live?")
        assert derived(engine, "Berlin").status is Status.ACTIVE
        assert engine.store.get(Scope(ANN), [source])[0].text == BOTH


@pytest.mark.parametrize("text", [ALONE, BOTH])
def test_restore_brings_back_the_source(text: str) -> None:
    """What went with the fact comes back with it, without marks."""
    with temp_engine() as engine:
        source = engine.add(text, scope=ANN).id
        before = engine.get(source, scope=ANN)
        fact = derived(engine, "cashews")
        engine.forget(fact.id, scope=ANN)
        engine.restore(fact.id, scope=ANN)
        after = engine.get(source, scope=ANN)
        assert (after.status, after.meta) == (Status.ACTIVE, before.meta)
        assert "cashews" in shown(engine)


def test_what_was_retracted_stays_so_when_it_returns() -> None:
    """A fact that its message no longer says, forgotten and restored, ended when it did before."""
    with temp_engine() as engine:
        source = engine.add("I live in Berlin.", scope=ANN).id
        fact = derived(engine, "Berlin")
        engine.edit(source, scope=ANN, text="I drink tea at home.")
        before = engine.get(fact.id, scope=ANN)
        engine.forget(fact.id, scope=ANN)
        engine.restore(fact.id, scope=ANN)
        after = engine.get(fact.id, scope=ANN)
        assert before.retired_at is not None
        assert (after.status, after.retired_at, after.meta) == (
            Status.SUPERSEDED,
            before.retired_at,
            before.meta,
        )


@pytest.mark.parametrize(
    "meta", [{"was": "gone"}, {"was": 7}, {"was": "active", "was_retired": "soon"}]
)
def test_a_tombstone_whose_metadata_were_edited(meta: dict[str, object]) -> None:
    """Restoring it says what is wrong, and it stays forgotten."""
    with temp_engine() as engine:
        source = engine.add("I live in Berlin.", scope=ANN).id
        engine.forget(source, scope=ANN)
        engine.edit(source, scope=ANN, fields={"meta": meta})
        with pytest.raises(InputError, match="cannot be restored"):
            engine.restore(source, scope=ANN)
        assert engine.get(source, scope=ANN).status is Status.FORGOTTEN


def test_a_preview_counts_other_messages_and_changes_nothing() -> None:
    """Messages that say the same are named, and everything stays."""
    with temp_engine() as engine:
        engine.add(ALONE, scope=ANN)
        other_id = engine.add(
            "The caterer wrote: I'm allergic to cashews, says your guest, so no nuts.", scope=ANN
        ).id
        fact = next(
            record
            for record in engine.list(scope=ANN).records
            if record.text == "I'm allergic to cashews" and record.kind is Kind.FACT
        )
        assert other_id in engine.preview([fact.id], "forget", ANN).also_said_in or other_id in {
            item.source for item in fact.evidence
        }
        assert engine.get(fact.id, scope=ANN).status is Status.ACTIVE


@pytest.mark.parametrize("request_text", ["Forget that.", "Don't save that."])
def test_forget_that_offers_what_was_told_not_the_question(request_text: str) -> None:
    """The last question of a conversation is nothing to forget."""
    with temp_engine() as engine:
        engine.add(Turn(ALONE, session="s1"), scope=ANN)
        engine.add(Turn("What am I allergic to?", session="s1"), scope=ANN)
        outcome = engine.control.turn(request_text, scope=ANN, session="s1")
        assert outcome is not None
        assert "cashews" in outcome.reply


def test_a_triple_does_not_quote_what_was_corrected() -> None:
    """Contexts in triple style show the new words in place of the old quote."""
    with temp_engine(read__line_format="triple") as engine:
        engine.add(ALONE, scope=ANN)
        change(engine, "edit", derived(engine, "cashews"))
        assert "pecans" in shown(engine)
        assert "cashews" not in shown(engine)


def test_a_purge_takes_the_words_out_of_a_message_that_says_more() -> None:
    """The quoted words leave the stored text, its history and its index;
    the rest stays and is found.
    """
    with temp_engine() as engine:
        source = engine.add(BOTH, scope=ANN).id
        engine.edit(source, scope=ANN, fields={"tags": ("food",)})
        report = engine.purge(derived(engine, "cashews").id, scope=ANN)
        record = engine.get(source, scope=ANN)
        assert record.text == "[removed] and I live in Berlin."
        assert "cashews" not in str((record, engine.history(source, scope=ANN), shown(engine)))
        assert engine.search("Berlin", scope=ANN).hits
        assert engine.store.vectors(ANN_SCOPE, [source], engine.embedder.card.id).any()
        assert report.proven and report.removed["shortened"] == 1


def test_a_purge_counts_the_messages_that_say_the_same() -> None:
    """What another message says stays, and the report is no proof."""
    with temp_engine() as engine:
        first = engine.add("The code of the cellar is four four one.", scope=ANN).id
        other_id = engine.add(
            "She wrote: The code of the cellar is four four one. Keep it.", scope=ANN
        ).id
        report = engine.purge(first, scope=ANN)
        assert not report.proven and report.remaining["also said"] == 1
        assert other_id in next(
            check.advice for check in report.places if check.name == "also said"
        )
        assert engine.purge(other_id, scope=ANN).proven


def test_history_of_a_new_fact_says_how_it_came() -> None:
    """A fact that takes another's place is not said to be superseded by itself."""
    with temp_engine() as memory:
        memory.add("I live in Paris.", scope=ANN)
        memory.add("I moved to Berlin.", scope=ANN)
        new = next(
            fact
            for fact in memory.list(scope=ANN, kinds=(Kind.FACT,)).records
            if fact.object == "Berlin"
        )
        reasons = [entry.reason for entry in memory.history(new.id, scope=ANN)]
    assert reasons
    assert all("superseded" not in reason for reason in reasons)


SESSION = (
    "The parcel ZK-4417 waits in the hall.",
    "The plumber Ruth mended the tap in the kitchen.",
    "We painted the fence behind the house green.",
    "My sister lives in Oslo.",
)


def account(engine: MemoryEngine) -> Record:
    """The account of the session, as it is shown."""
    (episode,) = engine.list(scope=ANN, kinds=(Kind.EPISODE,)).records
    return engine.get(episode.id, scope=ANN)


def told(engine: MemoryEngine, query: str) -> str:
    """Everything that a search returns, facts of its hits and their quotes too."""
    records = [
        record
        for hit in engine.search(query, scope=ANN, limit=50).hits
        for record in (hit.record, *hit.facts)
    ]
    return " ".join(
        [
            shown(engine, query),
            *(
                text
                for record in records
                for text in (record.text, *(item.quote for item in record.evidence))
            ),
        ]
    )


def test_an_edited_message_is_corrected_in_the_account_of_its_session() -> None:
    """What it said before stands in no hit, fact or quote; what it says again, does."""
    with temp_engine() as engine:
        engine.observe([Turn(text, session="s") for text in SESSION], scope=ANN)
        engine.drain()
        engine.sessions.end("s", scope=ANN)
        engine.drain()
        assert SESSION[0] in account(engine).text
        message = next(
            record
            for record in engine.list(scope=ANN, kinds=(Kind.TURN,)).records
            if record.text == SESSION[0]
        )
        engine.edit(message.id, scope=ANN, text="The parcel ZK-9920 is in the cellar.")
        corrected = account(engine)
        assert "[corrected on " in corrected.text
        assert SESSION[1] in corrected.text
        assert "ZK-4417" not in str((corrected.text, corrected.evidence, corrected.meta))
        assert "ZK-4417" not in told(engine, "Where is the parcel ZK-4417?") + told(
            engine, "ZK-4417"
        ) + told(engine, SESSION[0])
        engine.edit(message.id, scope=ANN, text=SESSION[0])
        assert account(engine).text == " ".join(SESSION)
        assert SESSION[0] in told(engine, "Where is the parcel ZK-4417?")


def test_an_edited_message_ends_what_a_model_told_of_it() -> None:
    """Of an account in other words, the sentence with what a fact of the message said."""
    summary = "Ann keeps parcels in the hall. Her sister is at home in Oslo. The fence is green."
    with ScriptedModel() as model:
        model.when("Write a short account", {"summary": summary})
        with temp_engine(
            chat__provider="openai",
            chat__url=model.url,
            chat__model="m",
            chat__retries=0,
            write__extract="rules",
        ) as engine:
            engine.observe([Turn(text, session="s") for text in SESSION], scope=ANN)
            engine.drain()
            engine.sessions.end("s", scope=ANN)
            engine.drain()
            assert account(engine).text == summary
            message = next(
                record
                for record in engine.list(scope=ANN, kinds=(Kind.TURN,)).records
                if record.text == SESSION[3]
            )
            engine.edit(message.id, scope=ANN, text="My sister lives in Bergen.")
            corrected = account(engine)
            assert "Oslo" not in str((corrected.text, corrected.evidence))
            assert "The fence is green." in account(engine).text
