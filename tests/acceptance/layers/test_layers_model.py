"""The three layers' document (004):
policy, reconciliation and the end of a session with a model, by the engine with that preset.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import EdgeType, Kind, Record, Status
from engrams.errors import ConflictError, ModelError, NotFoundError
from engrams.testing import HashEmbedder, ReceivedModelRequest, ScriptedModel, SettableClock

ANN = ("user", "ann")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
FACTS = "as long-term memory of an assistant|Take: who people are"
RULES = "Take: what it must always"
ACCOUNT = "Write a short account"
HEARD = "Below are numbered messages"


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(START)


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as server:
        yield server


def opened(
    home: Path, clock: SettableClock, model: ScriptedModel | None = None, **more: Any
) -> MemoryEngine:
    chat = (
        {}
        if model is None
        else {
            "chat__provider": "openai",
            "chat__model": "m",
            "chat__url": model.url,
            "chat__retries": 0,
        }
    )
    fixed = {
        "home": home,
        "preset": "layers",
        "clock": clock,
        "jobs__workers": 0,
        "write__debounce_seconds": 0.0,
    }
    return engrams.open(**{**fixed, **chat, **more})


def said(*quotes: str, **fields: Any) -> dict[str, Any]:
    rows = [
        {
            "turn": 1,
            "text": f"The user: {q}.",
            "quote": q,
            "subject": "user",
            "predicate": "adores",
            "object": q.split()[-1],
        }
        for q in quotes
    ]
    return {"statements": [{**row, "confidence": 0.9, **fields} for row in rows]}


def tell(engine: MemoryEngine, *texts: str, session: str = "s") -> None:
    for text in texts:
        engine.observe(Turn(text, session=session), scope=ANN)
    engine.drain()


def known(engine: MemoryEngine, *statuses: Status) -> list[Record]:
    kinds = (Kind.FACT, Kind.PREFERENCE, Kind.RULE)
    return list(
        engine.list(
            scope=ANN, kinds=kinds, statuses=statuses or (Status.ACTIVE,), order="oldest"
        ).records
    )


@pytest.mark.covers("S4.3", "S4.9")
def test_the_model_rules_and_what_it_leaves_out_is_held(
    home: Path, clock: SettableClock, model: ScriptedModel
) -> None:
    """One is stored, one dropped, the one it says nothing of is held and waits for its session's
    end.
    """
    with opened(home, clock, model, write__policy="llm", write__extraction_passes=1) as engine:
        model.when(HEARD, said("I adore Bach", "I adore Brahms", "I adore Liszt"))
        model.when(
            "rulings",
            {
                "rulings": [
                    {"id": 1, "action": "commit_now", "reason": "plain"},
                    {"id": 2, "action": "drop", "reason": "x" * 900},
                ]
            },
        )
        tell(engine, "I adore Bach, I adore Brahms, I adore Liszt")
        assert [record.object for record in known(engine)] == ["Bach"]
        assert [record.object for record in known(engine, Status.CANDIDATE)] == ["Liszt"]
        (held,) = known(engine, Status.CANDIDATE)
        assert (held.meta["hold"], held.meta["review"]) == ("commit_at_session_end", True)


@pytest.mark.covers("S4.3")
def test_each_statement_has_a_decision_with_a_reason(home: Path, clock: SettableClock) -> None:
    """The receipt tells what became of each, and why, in 240 characters at most."""
    with opened(home, clock) as engine:
        for text in (
            "Remember that I am allergic to nuts",
            "I have been enjoying jazz",
            "I live in Porto",
        ):
            for made in engine.add(Turn(text, session="s"), scope=ANN).derived:
                assert made.verdict in ("add", "hold")
                assert 0 < len(made.reason) <= 240
        assert known(engine)
        assert known(engine, Status.CANDIDATE)


@pytest.mark.covers("S4.9")
def test_without_a_model_nothing_unreviewed_is_stored(home: Path, clock: SettableClock) -> None:
    """Where the policy is the model's and there is none, a statement stays held, also at the
    session's end.
    """
    with opened(home, clock, write__policy="llm") as engine:
        tell(engine, "I live in Paris.", "I live in Paris.")
        assert engine.sessions.end("s", scope=ANN).ended["held"]
        engine.drain()
        assert not known(engine)
        assert all(record.meta["review"] for record in known(engine, Status.CANDIDATE))


@pytest.mark.covers("S4.9")
def test_many_held_statements_are_judged_by_several_jobs(
    home: Path, clock: SettableClock, model: ScriptedModel
) -> None:
    """A model that comes later judges all of them, twenty at most under one lease;
    what it was asked about already is not asked again.
    """
    names = [
        "".join(pair).capitalize()
        for pair in itertools.product(
            "bdfgk", ["alun", "erin", "oris", "umek", "yda", "ilo", "anto", "eska", "orra"]
        )
    ]
    with opened(home, clock, write__policy="llm") as engine:
        tell(engine, *(f"My friend {name} lives in Porto." for name in names))
        held = known(engine, Status.CANDIDATE)
        assert len(held) > 40
    model.when("rulings", {"rulings": [{"id": 1, "action": "commit_now", "reason": "plain"}]})
    with opened(home, clock, model, write__policy="llm") as engine:
        assert engine.sessions.end("s", scope=ANN).ended["held"]
        assert len(model.requests) <= 21
        clock.forward(60)
        engine.drain()
        assert not [
            record for record in known(engine, Status.CANDIDATE) if record.meta.get("review")
        ]
        assert {record.id for record in known(engine)} >= {record.id for record in held}
        assert len([request for request in model.requests if "rulings" in str(request)]) == len(
            held
        )


@pytest.mark.covers("S4.7")
@pytest.mark.parametrize(
    ("words", "confidence", "status"),
    [
        ("I kind of like shorter replies", 0.55, Status.CANDIDATE),
        ("I like shorter replies", 0.9, Status.ACTIVE),
        ("Remember that I like shorter replies", 0.55, Status.ACTIVE),
    ],
)
def test_a_model_cannot_store_an_implied_wish_at_once(
    home: Path,
    clock: SettableClock,
    model: ScriptedModel,
    words: str,
    confidence: float,
    status: Status,
) -> None:
    """Below write.hold_below a preference is held whatever the model rules, unless the user asked to
    remember it.
    """
    model.when("rulings", {"rulings": [{"id": 1, "action": "commit_now", "reason": "plain"}]})
    model.when(FACTS, said(words, kind="preference", confidence=confidence))
    with opened(home, clock, model, write__policy="llm") as engine:
        tell(engine, f"{words}.")
        (record,) = known(engine, Status.ACTIVE, Status.CANDIDATE)
        assert record.status is status


@pytest.mark.covers("S4.60")
@pytest.mark.parametrize(("broken", "kept"), [(FACTS, Kind.RULE), (RULES, Kind.PREFERENCE)])
def test_each_lane_fails_alone(
    home: Path, clock: SettableClock, model: ScriptedModel, broken: str, kept: Kind
) -> None:
    """Facts and rules are asked for apart;
    where one call fails, what the other found is stored, with its own words.
    """
    with opened(home, clock, model, write__policy="off") as engine:
        model.when(
            RULES,
            said(
                "answer in French from now on", kind="rule", subject="assistant", predicate="always"
            ),
        )
        model.when(FACTS, said("I like tea", kind="preference"))
        model.fail("http_400", times=9, when=broken)
        tell(engine, "I like tea, and answer in French from now on.")
        (record,) = known(engine)
        assert record.kind is kept
        assert record.evidence[0].quote in "I like tea, and answer in French from now on."
        assert engine.get(record.evidence[0].source, scope=ANN).text.startswith("I like tea")


@pytest.mark.covers("S4.26")
@pytest.mark.parametrize(
    ("answer", "fallback", "statuses"),
    [
        ({"verdict": "replace", "known": [1], "confidence": "low"}, "hold", ["active", "active"]),
        (
            {"verdict": "replace", "known": [1], "confidence": "high"},
            "hold",
            ["superseded", "active"],
        ),
        (
            {"verdict": "replace", "known": [77], "confidence": "high"},
            "hold",
            ["active", "candidate"],
        ),
        (None, "hold", ["active", "candidate"]),
        (None, "coexist", ["active", "active"]),
    ],
    ids=["unsure", "sure", "bad number", "failure", "failure, opted in"],
)
def test_reconciliation_that_is_unsure_or_fails(
    home: Path,
    clock: SettableClock,
    model: ScriptedModel,
    answer: dict[str, Any] | None,
    fallback: str,
    statuses: list[str],
) -> None:
    """Not sure:
    both stay, linked as contradicting. A wrong number or a failure: the new one is held, or stands
    beside the old.
    """
    with opened(
        home,
        clock,
        model,
        write__policy="off",
        write__extraction_passes=1,
        write__reconcile_fallback=fallback,
    ) as engine:
        model.say(said("I adore opera"))
        tell(engine, "I adore opera.")
        model.when(HEARD, {**said("I loathe opera", predicate="loathes")})
        if answer is None:
            model.fail("http_400", times=9, when="New statements")
        else:
            model.when(
                "New statements",
                {"decisions": [{"new": 1, "reason": "r", "earlier": [], **answer}]},
            )
        tell(engine, "I loathe opera.", session="t")
        found = known(engine, *Status)
        assert [str(record.status) for record in found] == statuses
        if answer is not None and answer["confidence"] == "low":
            edges = engine.inspect.edges(found[0].scope.owner, [found[1].id])
            assert EdgeType.CONTRADICTS in {edge.type for edge in edges}


@pytest.mark.covers("S4.47")
def test_states_of_a_session(home: Path, clock: SettableClock) -> None:
    """absent, active, expired, ended:
    each says why it cannot go on; whoever takes it over leaves the one before without a say.
    """
    with opened(home, clock) as engine:
        sessions = engine.sessions
        assert sessions.state("s", scope=ANN) == "absent"
        with pytest.raises(NotFoundError, match="no session"):
            sessions.touch("s", scope=ANN)
        old = sessions.begin("s", scope=ANN)
        new = sessions.begin("s", scope=ANN)
        assert new.state == "active"
        for step in (sessions.touch, sessions.end):
            with pytest.raises(ConflictError, match="taken over"):
                step("s", scope=ANN, token=old.token)
        assert sessions.touch("s", scope=ANN, token=new.token).token > new.token
        clock.forward(minutes=20)
        assert sessions.state("s", scope=ANN) == "expired_unfinalized"
        with pytest.raises(ConflictError, match="timed out"):
            sessions.touch("s", scope=ANN)
        assert sessions.end("s", scope=ANN).state == "rotation_required"
        with pytest.raises(ConflictError, match="has ended"):
            sessions.touch("s", scope=ANN)


@pytest.mark.covers("S4.48")
def test_the_next_part_starts_behind_the_last(
    home: Path, clock: SettableClock, model: ScriptedModel
) -> None:
    """Turns of a part that has ended are neither extracted from nor accounted for again."""
    model.when(HEARD, {"statements": []}).when(ACCOUNT, {"summary": "They talked."})
    climbing = (
        "I climb the long wall on Fridays",
        "The wall has nine bolts",
        "My rope is sixty metres long",
    )
    music = (
        "I play the oboe in an orchestra",
        "The orchestra meets on Mondays",
        "Our orchestra needs a new hall",
    )
    with opened(home, clock, model) as engine:
        tell(engine, *climbing)
        engine.sessions.end("s", scope=ANN, wait=True)
        asked = len(model.requests)
        clock.forward(minutes=1)
        tell(engine, *music)
        ended = engine.sessions.end("s", scope=ANN, wait=True)
        later = [request.prompt for request in model.requests[asked:]]
        assert any("oboe" in prompt for prompt in later)
        assert not [prompt for prompt in later if re.search(r"(?m)^\[\d+\].*long wall", prompt)]
        assert ended.turns == 6
        assert len(engine.list(scope=ANN, kinds=(Kind.EPISODE,)).records) == 2


@pytest.mark.covers("S4.22")
@pytest.mark.slow
def test_a_session_ends_whatever_fails(
    home: Path, clock: SettableClock, model: ScriptedModel
) -> None:
    """With a summariser that fails there is an account by rules;
    with an embedder that fails it is stored, and found later by meaning.
    """
    model.when(HEARD, {"statements": []})
    model.fail("http_400", times=20, when=ACCOUNT)
    remote = {"embed__provider": "openai", "embed__model": "e", "embed__url": f"{model.url}/v1"}
    with opened(home, clock, model, **remote) as engine:
        model.fail("http_500", times=99, only="embeddings")
        tell(
            engine,
            "I climb the long wall on Fridays",
            "The wall has nine bolts",
            "My rope is sixty metres long",
        )
        engine.sessions.end("s", scope=ANN, wait=True)
        (account,) = engine.list(scope=ANN, kinds=(Kind.EPISODE,)).records
        assert account.provenance.extractor == "rules"
        assert engine.sessions.state("s", scope=ANN) == "rotation_required"
        model.heal()
        clock.forward(hours=1)
        engine.retry()
        engine.drain()
        assert sum(engine.stats(ANN)["model"].values()) >= 4


@pytest.mark.covers("S4.19")
def test_a_session_with_nothing_held_changes_nothing(home: Path, clock: SettableClock) -> None:
    """Its end promotes, drops and holds nothing, and what was stored stays as it was."""
    with opened(home, clock) as engine:
        engine.add(Turn("Remember that I live in Paris", session="s"), scope=ANN)
        before = known(engine)
        ended = engine.sessions.end("s", scope=ANN).ended
        assert ended["promoted"] == ended["held"] == ended["dropped"] == []
        assert known(engine) == before


class FailingEmbedder(HashEmbedder):
    """An embedder in the process that fails when it is told to."""

    fails = False

    def embed(self, *arguments: Any) -> Any:
        if self.fails:
            raise ModelError("The embedder is out of memory.")
        return super().embed(*arguments)


@pytest.mark.covers("S4.59")
@pytest.mark.slow
def test_what_could_not_be_embedded_is_embedded_later(
    home: Path, clock: SettableClock, model: ScriptedModel
) -> None:
    """A failing embedder, a server's or one of the process, costs nothing but the search by meaning,
    until the backfill; so with another model's vectors.
    """
    remote = {"embed__provider": "openai", "embed__model": "e", "embed__url": f"{model.url}/v1"}
    with opened(home, clock, **remote) as engine:
        model.fail("http_500", times=99, only="embeddings")
        told = engine.add(Turn("The kettle whistles in the kitchen"), scope=ANN, kind=Kind.FACT)
        engine.drain()
        assert engine.get(told.id, scope=ANN).text.startswith("The kettle")
        assert sum(engine.stats(ANN)["model"].values()) == 0
        assert engine.search("kettle", scope=ANN).hits
        model.heal()
        clock.forward(hours=1)
        engine.retry()
        engine.drain()
        assert sum(engine.stats(ANN)["model"].values()) == 1
    new = FailingEmbedder(48)
    with opened(home, clock, embedder=new) as engine:
        assert engine.search("kettle", scope=ANN).hits
        engine.drain()
        assert engine.stats(ANN)["model"][new.card.id] == 1
        new.fails = True
        told = engine.add(Turn("The toaster is loud"), scope=ANN, kind=Kind.FACT)
        assert engine.list(scope=ANN, text="toaster").records[0].id == told.id
        assert engine.stats(ANN)["model"][new.card.id] == 1


def drinks(request: ReceivedModelRequest) -> Any:
    """What is said of tea, each time in another relation."""
    said = re.findall(r'(?m)^\[(\d+)\].*?: "(I (\w+) tea)', request.prompt)
    rows = [
        {
            "turn": int(n),
            "text": f"The user {v}s tea",
            "quote": q,
            "subject": "user",
            "predicate": v,
            "object": "tea",
        }
        for n, q, v in said
    ]
    return {"statements": [{**row, "confidence": 0.9, "kind": "fact"} for row in rows]}


@pytest.mark.covers("S4.14", "S4.15", "S4.17")
@pytest.mark.parametrize(
    ("action", "said", "account", "earlier", "promoted"),
    [
        ("commit_at_session_end", ("drink", "sip"), (), False, True),
        ("commit_at_session_end", ("drink",), ("tea", "They had tea."), False, True),
        ("commit_at_session_end", ("drink",), ("boats", "They had tea."), False, False),
        ("commit_at_session_end", ("drink",), (), True, True),
        ("commit_at_session_end", ("drink",), (), False, False),
        ("require_repetition", ("drink", "sip"), (), False, True),
        ("require_repetition", ("drink",), ("tea", "They had tea."), False, False),
        ("require_repetition", ("drink",), (), True, True),
    ],
)
def test_what_is_held_is_promoted_by_support(  # noqa: PLR0913 - fixtures and the columns of a case
    home: Path,
    clock: SettableClock,
    model: ScriptedModel,
    action: str,
    said: tuple[str, ...],
    account: tuple[str, ...],
    *,
    earlier: bool,
    promoted: bool,
) -> None:
    """Said twice;
    once and twice in the account; once and in an earlier session. What needs repetition is not
    borne out by an account.
    """
    model.when(HEARD, drinks).when(
        ACCOUNT,
        {"themes": list(account[:1]), "summary": account[1] if account else "They spoke of boats."},
    )
    model.when(
        "what an assistant may remember",
        {"rulings": [{"id": n, "action": action, "reason": "r"} for n in (1, 2)]},
    )
    with opened(
        home,
        clock,
        model,
        write__policy="llm",
        write__extraction_passes=1,
        write__reconcile="rules",
    ) as engine:
        for session in ("before",) * earlier:
            tell(engine, "I drink tea with my brother", session=session)
            engine.sessions.end(session, scope=ANN, wait=True)
            clock.forward(days=1)
        tell(engine, *(f"I {verb} tea with my sister" for verb in said))
        tell(
            engine,
            "The boat is green since spring",
            "The harbour has nine piers",
            "The pier is made of oak",
        )
        assert bool(known(engine)) is earlier, "said again in another session it waits no longer"
        engine.sessions.end("s", scope=ANN, wait=True)
        facts = known(engine)
        assert len(facts) == int(promoted), [record.text for record in facts]
        if len(said) == 2:
            assert (facts[0].strength, len(facts[0].evidence)) == (2, 2)
