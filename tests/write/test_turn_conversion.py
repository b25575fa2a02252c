"""The journal: a turn becomes a clean record, or none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from engrams.core import Kind, Layer, Scope, Turn
from engrams.errors import InputError
from engrams.settings import Settings
from engrams.write.channels import TRUST
from engrams.write.turn_conversion import TurnConversionResult, TurnConverter

from .conftest import ALICE, Talk

NOW = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
KEY = "sk-" + "proj-" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8v"


def record(turn: Turn, channel: str = "", **write: object) -> TurnConversionResult:
    settings = Settings()
    settings = settings.model_copy(update={"write": settings.write.model_copy(update=write)})
    return TurnConverter(ALICE, Kind.TURN, channel, NOW, settings).convert(turn)


def test_a_turn_becomes_a_record() -> None:
    """Who said what, when, in which session stays with it;
    a time of another zone is told in UTC.
    """
    at = datetime(2023, 5, 1, 9, 0, tzinfo=timezone(timedelta(hours=2)))
    entry = record(
        Turn(
            "Hello there",
            speaker="Carol",
            at=at,
            session="s1",
            external_id="m1",
            caption="a dog",
            meta={"a": [1, "b"]},
        )
    )
    made = entry.record
    assert made is not None
    assert (made.text, made.speaker, made.session, made.external_id, made.caption) == (
        "Hello there",
        "Carol",
        "s1",
        "m1",
        "a dog",
    )
    assert made.recorded_at == datetime(2023, 5, 1, 7, 0, tzinfo=UTC)
    assert (made.kind, made.layer, made.meta) == (
        Kind.TURN,
        Layer.EPISODIC,
        {"a": [1, "b"], "utc_offset": "+02:00"},
    )
    assert (entry.outcome, entry.decisions) == ("stored", ())


def test_trust_follows_the_channel() -> None:
    """The owner's word is worth most, a web page's least; an unknown channel is refused."""
    assert (
        TRUST["user"]
        > TRUST["file"]
        > TRUST["import"]
        > TRUST["assistant"]
        > TRUST["tool"]
        > TRUST["web"]
    )
    for role in ("user", "assistant", "tool", "system"):
        made = record(Turn("some text", role=role)).record  # type: ignore[arg-type]
        assert made is not None
        assert made.trust == TRUST[role]
        assert made.provenance.channel == role
    with pytest.raises(InputError):
        record(Turn("some text"), channel="telepathy")


@pytest.mark.covers("S3.51")
def test_a_secret_is_taken_out_of_every_part_before_anything_is_stored() -> None:
    """Text, caption, speaker and metadata are redacted, and the decision names the family without
    repeating the key.
    """
    entry = record(
        Turn(
            f"use {KEY} please",
            caption=f"screenshot of {KEY}",
            speaker="Bo",
            meta={"note": {"api_key": KEY, "x": [f"a {KEY}"]}},
        )
    )
    assert entry.record is not None
    assert entry.outcome == "redacted"
    assert KEY not in repr(entry)
    assert "[redacted:openai-key]" in entry.record.text
    assert [
        (decision.stage, decision.verdict, decision.reason) for decision in entry.decisions
    ] == [("secrets", "redacted", "openai-key")]


def test_a_name_can_make_a_value_a_secret() -> None:
    """In metadata the name counts: the value called a password goes, the others stay."""
    made = record(
        Turn("see the data", meta={"login": {"user": "bob", "password": "hunter2"}})
    ).record
    assert made is not None
    assert made.meta == {"login": {"user": "bob", "password": "[redacted:stated-password]"}}


@pytest.mark.covers("S3.51")
def test_a_secret_is_refused_or_let_through_where_so_set() -> None:
    """``refuse`` stores nothing and says why; ``allow`` keeps the text as it is."""
    refused = record(Turn(f"use {KEY}"), secrets="refuse")
    assert (refused.record, refused.outcome, refused.decisions[0].reason) == (
        None,
        "refused",
        "openai-key",
    )
    kept = record(Turn(f"use {KEY}"), secrets="allow").record
    assert kept is not None
    assert KEY in kept.text


@pytest.mark.parametrize(
    ("mode", "outcome"), [("allow", "stored"), ("redact", "redacted"), ("refuse", "refused")]
)
def test_personal_data_follows_its_own_setting(mode: str, outcome: str) -> None:
    """Card numbers and the like are kept, taken out or refused, as set."""
    entry = record(Turn("my card is 4111 1111 1111 1111"), pii=mode)
    assert entry.outcome == outcome
    if mode == "redact":
        assert entry.record is not None
        assert entry.record.text == "my card is [redacted:card]"


@pytest.mark.parametrize("text", ["", "  \n ", "\0\0"])
def test_an_empty_turn_is_refused(text: str) -> None:
    """A turn without a visible character raises, with a hint; one with a caption only is kept."""
    with pytest.raises(InputError):
        record(Turn(text))
    made = record(Turn("", caption="a photo of a dog")).record
    assert made is not None
    assert made.search_text.strip() == "[a photo of a dog]"


def test_odd_characters_are_cleaned() -> None:
    """NUL and lone surrogates never reach the record, in text, labels or metadata."""
    made = record(
        Turn(
            "a\0b \ud800 c",
            speaker="Bo\0\nb" + "x" * 500,
            session="s\x07",
            meta={"k\0": "v\0\ud800"},
        )
    ).record
    assert made is not None
    assert "\0" not in repr(made)
    assert made.text.encode("utf-8")
    assert len(made.speaker) <= 200
    assert "\n" not in made.speaker


@pytest.mark.parametrize(
    "meta", [{"a": object()}, {"a": float("nan")}, {"a": "x" * 2_000_000}, {"a": {1, 2}}]
)
def test_bad_metadata_is_refused(meta: dict[str, object]) -> None:
    """Metadata that is no JSON or too large raises InputError."""
    with pytest.raises(InputError):
        record(Turn("fine", meta=meta))


def test_no_turn_of_a_bad_write_is_journaled(talk: Talk) -> None:
    """One empty turn among several raises, and none of them is stored."""
    with pytest.raises(InputError):
        talk.put("good", "")
    assert talk.store.counts(None)["status"].get("active", 0) == 0


def test_receipts_come_in_order(talk: Talk) -> None:
    """Each turn has a receipt in its place; a refused one names no record."""
    talk.settings = talk.settings.model_copy(
        update={"write": talk.settings.write.model_copy(update={"secrets": "refuse"})}
    )
    journaled = talk.put("I live in Paris", f"use {KEY}", "I love tea")
    assert [receipt.outcome for receipt in journaled.receipts] == ["stored", "refused", "stored"]
    assert [receipt.id for receipt in journaled.receipts if receipt.id] == [
        record.id for record in journaled.records
    ]
    assert journaled.receipts[1].id == ""
    assert all(receipt.searchable == ("lexical",) for receipt in journaled.receipts if receipt.id)
    assert Scope.of(ALICE) == journaled.receipts[0].scope
