"""The memory graph's document (003), played against ``engrams serve --preset graph`` and the engine
with that preset.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from math import exp, log
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.process import Door, eventually, served

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import EdgeType, Kind, Status
from engrams.errors import EngramsError
from engrams.testing import ReceivedModelRequest, ScriptedModel, ScriptedReply, SettableClock

JUDGE = "Someone is talking with an assistant that has long-term memory"
ANN = ("user", "ann")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)


def answer(request: ReceivedModelRequest) -> Any:
    """A model that finds every memory helpful that shares a word with the question, and learns
    nothing.
    """
    text = request.prompt
    if JUDGE in text:
        asked = set(
            text.partition("The latest part of the conversation:")[2]
            .partition("The memories:")[0]
            .lower()
            .split()
        )
        rows = [row for row in text.partition("The memories:")[2].splitlines() if row[:1].isdigit()]
        return {
            "ids": [
                n
                for n, row in enumerate(rows, 1)
                if "refuse" not in asked and {"alps", "rope", "knots"} & set(row.lower().split())
            ]
        }
    if request.schema is not None:
        return {"statements": [], "decisions": [], "names": []}
    return ScriptedReply(f"reply to {request.text}")


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    home = tmp_path_factory.mktemp("graph") / "home"
    with (
        ScriptedModel(answer=answer) as model,
        served("graph", home, model, "--upstream", f"{model.url}/v1") as door,
    ):
        yield door


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(START)


@pytest.fixture
def engine(home: Path, clock: SettableClock) -> Iterator[MemoryEngine]:
    """The library with the preset, its jobs run by hand, on a clock of ours."""
    with engrams.open(home=home, preset="graph", jobs__workers=0, clock=clock) as made:
        yield made


def add(door: Door, text: str, **fields: Any) -> str:
    return str(
        door.post("/v1/memories", {"text": text, "kind": "fact", **fields}, status=201)["results"][
            0
        ]["id"]
    )


@pytest.mark.covers("S3.1", "S3.2", "S3.14", "S3.15", "S3.20", "S3.21", "S3.22")
def test_the_proxy_delivers_one_turn_late_and_once(door: Door) -> None:
    """What a turn brings up arrives with the next one, under "# Memory", once;

    a hung judge delays nothing.
    """
    add(door, "Ann climbs in the Alps every June")

    def said(text: str) -> str:
        door.client.post(
            "/v1/chat/completions",
            json={"model": "m", "messages": [{"role": "user", "content": text}]},
            headers={"x-engrams-session": "late"},
        )
        return door.sent()

    assert "Alps" not in said("Tell me of Alps climbing").replace("Tell me of Alps climbing", "")
    eventually(lambda: [request for request in door.model.requests if JUDGE in request.prompt])
    eventually(lambda: len([r for r in door.model.requests if JUDGE in r.prompt]) >= 2)
    late = eventually(
        lambda: (text := said("and then?")) and "Ann climbs in the Alps" in text and text
    )
    assert "# Memory" in late
    assert "1. Ann climbs in the Alps" in late
    assert all("Ann climbs" not in said(f"and then {place}?") for place in range(3))


@pytest.mark.covers("S3.3", "S3.16")
def test_what_is_pending_belongs_to_its_session(door: Door) -> None:
    """Over REST as over the proxy:
    one session's memories are no other's, and what the judge did is counted.
    """
    add(door, "Ann ties knots at the harbour")

    def ask(session: str, query: str = "Which knots does Ann tie?") -> str:
        return str(door.post("/v1/context", {"query": query, "session": session})["text"])

    assert ask("one") == ""
    assert ask("two", "zxqv") == ""
    assert "knots" in eventually(lambda: ask("one"))
    assert "knots" not in ask("two", "zxqv")


@pytest.mark.covers("S3.6", "S3.8", "S3.45", "S3.48")
def test_search_finds_what_is_linked(door: Door) -> None:
    """A memory that shares a tag with a hit comes with it, whatever its own likeness;
    without the tag it does not.
    """
    add(door, "The rope is forty metres long", tags=["climbing"])
    other = add(door, "Bert owns a blue van", tags=["climbing"])

    def found() -> list[str]:
        return [
            hit["memory"]["id"]
            for hit in door.post("/v1/search", {"query": "How long is the rope?", "limit": 10})[
                "hits"
            ]
        ]

    assert other in found()
    door.patch(f"/v1/memories/{other}", {"tags": []})
    assert other not in found()


@pytest.mark.covers("S3.54")
def test_memory_is_readable_as_files(door: Door) -> None:
    """Each memory lies in the vault as Markdown."""
    add(door, "Ann sharpens skates")
    (path,) = eventually(
        lambda: [
            one for one in door.files("entries/user/ann/facts/*.md") if "skates" in one.read_text()
        ]
    )
    assert path.read_text().rstrip().endswith("Ann sharpens skates")


@pytest.mark.covers("S3.46", "S3.49", "S3.50", "S3.71")
def test_the_command_lists_exports_and_forgets(door: Door, tmp_path: Path) -> None:
    """What is forgotten is found by nothing and still exported as inactive;
    an import of it into an empty home gives the same.
    """
    name = add(door, "Ann had a canoe once", tags=["boats"])
    door.delete(f"/v1/memories/{name}")
    assert all(
        hit["memory"]["id"] != name for hit in door.post("/v1/search", {"query": "canoe"})["hits"]
    )
    exported = door.client.get("/v1/export").text
    assert "canoe" in exported
    stats = door.get("/v1/stats")
    assert stats["status"]["forgotten"] >= 1


@pytest.mark.covers("S3.10", "S3.29")
@pytest.mark.parametrize("has_judge", [True, False])
def test_the_judge_finds_a_paraphrase_below_the_floor(
    home: Path, clock: SettableClock, has_judge: bool
) -> None:
    """What shares no word and is less like the question than the floor arrives only if the judge
    says that it helps; what the judge refuses there loses no confidence.
    """

    def choose(request: ReceivedModelRequest) -> Any:
        rows = request.prompt.partition("The memories:")[2].splitlines()
        return {"ids": [int(row.partition(".")[0]) for row in rows if "kettle" in row]}

    with (
        ScriptedModel(answer=choose) as model,
        engrams.open(
            home=home,
            preset="graph",
            clock=clock,
            chat__provider="openai" if has_judge else "none",
            chat__model="m",
            chat__url=model.url,
            jobs__workers=0,
            delivery__mode="sync",
            write__extract="off",
        ) as engine,
    ):
        for text in ("The kettle whistles when the water boils", "Felix hates thunder"):
            engine.add(Turn(text), scope=ANN, kind=Kind.FACT, settle=False)

        def deliver(question: str) -> str:
            return engine.deliver(question, scope=ANN, session=question).text

        assert ("kettle" in deliver("How do I notice that tea can be made?")) is has_judge
        assert not deliver("What is the dog afraid of during storms?")
        engine.drain()
        trusted = {record.text: record.confidence for record in engine.list(scope=ANN).records}
        assert trusted["Felix hates thunder"] == 1.0


@pytest.mark.covers("S3.17", "S3.18", "S3.29", "S3.30", "S3.31")
def test_verdicts_of_the_judge_teach(home: Path, clock: SettableClock) -> None:
    """Rejected memories lose 0.02 of confidence, verified ones gain 0.05 and are linked;
    reminders are not asked about, and the user's last words lead the question. Verdicts of several
    sessions add up.
    """
    with (
        ScriptedModel(answer=answer) as model,
        engrams.open(
            home=home,
            preset="graph",
            clock=clock,
            chat__provider="openai",
            chat__model="m",
            chat__url=model.url,
            jobs__workers=0,
        ) as engine,
    ):
        ids = {
            text: engine.add(Turn(text), scope=ANN, kind=Kind.FACT).id
            for text in (
                "The rope of Ann is red",
                "Ann ties knots of rope",
                "Ann sings of a rope dancer, opera 1",
            )
        }
        engine.edit(
            ids["Ann sings of a rope dancer, opera 1"],
            scope=ANN,
            text="Ann sings of Rope-dancer, an opera",
        )
        for record in engine.list(scope=ANN).records:
            engine.edit(record.id, scope=ANN, fields={"confidence": 0.5})
        messages = [
            {"role": "user", "content": "x " * 3000},
            {
                "role": "user",
                "content": f"<system-reminder>{'about tools ' * 150}</system-reminder> We climb.",
            },
            {"role": "assistant", "content": "Yes"},
        ]
        messages += [
            {
                "role": "user",
                "content": (
                    "Which rope has Ann? <system-reminder>be brief about tools</system-reminder>"
                ),
            },
            {"role": "user", "content": "<system-reminder>be terse about tools</system-reminder>"},
        ]
        engine.deliver(messages, scope=ANN, session="s")
        eventually(lambda: len([r for r in model.requests if JUDGE in r.prompt]) == 2)
        asked = model.requests[-1].prompt
        assert "about tools" not in asked
        assert "We climb." in asked
        assert '"Which rope has Ann?' in asked
        assert len(asked) < 8000 + 4000

        def confidence(text: str) -> float:
            engine.drain()
            return engine.get(ids[text], scope=ANN).confidence

        eventually(lambda: confidence("The rope of Ann is red") == pytest.approx(0.55))
        assert confidence("Ann ties knots of rope") == pytest.approx(0.55)
        assert confidence("Ann sings of a rope dancer, opera 1") == pytest.approx(0.48)
        edges = engine.inspect.edges(engine.scopes()[0], list(ids.values()), (EdgeType.RELATES_TO,))
        assert [edge.weight for edge in edges] == [0.6]
        shown = engine.deliver("and?", scope=ANN, session="s")
        assert len(shown.hits) == 2
        asked_before = len([r for r in model.requests if JUDGE in r.prompt])
        for number in range(3):
            engine.deliver("Which rope has Ann?", scope=ANN, session=f"t{number}")
        eventually(
            lambda: len([r for r in model.requests if JUDGE in r.prompt]) >= asked_before + 6
        )
        eventually(lambda: confidence("The rope of Ann is red") == pytest.approx(0.7))


@pytest.mark.covers("S3.28")
def test_use_changes_confidence_and_strength(engine: MemoryEngine) -> None:
    """Helpful: strength + 1, confidence + 0.05; not helpful: - 0.1; each is an access."""
    name = engine.add(Turn("Ann likes chess"), scope=ANN, kind=Kind.FACT).id
    engine.edit(name, scope=ANN, fields={"confidence": 0.5})
    engine.used(name, scope=ANN)
    once = engine.get(name, scope=ANN)
    assert (once.strength, once.confidence, once.access_count) == (2, 0.55, 1)
    engine.used(name, scope=ANN, helpful=False)
    assert engine.get(name, scope=ANN).confidence == pytest.approx(0.45)


@pytest.mark.covers("S3.24", "S3.25", "S3.26", "S3.13")
def test_confidence_decays_by_kind_in_a_search(engine: MemoryEngine, clock: SettableClock) -> None:
    """A fact's score falls to 1/e in thirty days, a preference's in ninety;
    an inferred one's in a week; use raises it.
    """
    fact = engine.add(Turn("Ann rows a green boat"), scope=ANN, kind=Kind.FACT).id

    def score() -> float:
        return engine.explain("green boat", scope=ANN).trace.rows[0].score

    first = score()
    clock.forward(days=30)
    assert score() == pytest.approx(first * exp(-1), abs=2e-3)
    engine.used(fact, scope=ANN)
    assert score() > first * exp(-1) * (1 + 0.1 * log(2)) * 1.4


@pytest.mark.covers("S3.26")
def test_use_raises_a_score_by_half_and_less_each_day(
    engine: MemoryEngine, clock: SettableClock
) -> None:
    """By 1.5 at once and by 1 + 0.5/e a day later; what was used just now stands first, also
    where both scores are as high as they can be.
    """
    other, used = (
        engine.add(Turn(text), scope=ANN, kind=Kind.FACT).id
        for text in ("Tomas reviews every migration", "Tomas reviews each migration plan")
    )

    def list_scores() -> dict[str, float]:
        hits = engine.search("Who reviews migrations?", scope=ANN).hits
        return {hit.record.id: hit.score for hit in hits}

    fresh = list_scores()
    assert [*fresh] == [other, used]
    engine.used(used, scope=ANN)
    assert [*list_scores().items()] == [(used, 1.0), (other, fresh[other])]
    clock.forward(days=20)
    engine.edit(used, scope=ANN, fields={"confidence": 0.5})
    engine.used(used, scope=ANN)
    unboosted = fresh[used] * 0.55 * exp(-20 / 30) * (1 + 0.1 * log(3))
    assert list_scores()[used] == pytest.approx(unboosted * 1.5, abs=2e-3)
    clock.forward(days=1)
    faded = unboosted * exp(-1 / 30) * (1 + 0.5 * exp(-1))
    assert list_scores()[used] == pytest.approx(faded, abs=2e-3)


@pytest.mark.covers("S3.27")
def test_without_a_question_the_order_is_ambient(
    engine: MemoryEngine, clock: SettableClock
) -> None:
    """A session begins with what is new, used, trusted and corrected, best first."""
    old = engine.add(Turn("Ann lived in Oslo"), scope=ANN, kind=Kind.FACT).id
    clock.forward(days=60)
    engine.add(Turn("Ann lives in Rome"), scope=ANN, kind=Kind.FACT)
    text = engine.context("", scope=ANN).text
    assert text.index("Rome") < text.index("Oslo")
    assert "# Memory" in text
    for _ in range(120):
        engine.used(old, scope=ANN)
    text = engine.context("", scope=ANN).text
    assert text.index("Oslo") < text.index("Rome")


@pytest.mark.covers("S3.38")
def test_projects_are_apart(engine: MemoryEngine) -> None:
    """A project reads its own and the person's memories; no link joins two projects."""
    p = (*ANN, "project", "p")
    q = (*ANN, "project", "q")
    one, other = (
        engine.add(Turn(f"The {place[-1]} build uses bazel"), scope=place, kind=Kind.FACT).id
        for place in (p, q)
    )
    mine = engine.add(Turn("Ann likes bazel"), scope=ANN, kind=Kind.FACT).id
    found = {hit.record.id for hit in engine.search("bazel", scope=p).hits}
    assert other not in found
    assert {one, mine} & found
    engine.links.link(one, mine, scope=ANN)
    with pytest.raises(EngramsError, match="two projects"):
        engine.links.link(one, other, scope=ANN)


@pytest.mark.covers("S3.39", "S3.41")
def test_a_repeated_statement_reinforces(engine: MemoryEngine) -> None:
    """Said again in other words it is the same memory, stronger, with the session and message that
    said so; a contradiction is another.
    """
    engine.add(Turn("I really love hiking in the mountains"), scope=ANN)
    engine.add(Turn("I love hiking in mountains", session="s2"), scope=ANN, kind=Kind.NOTE)
    (one,) = [
        r
        for r in engine.list(scope=ANN, kinds=(Kind.FACT, Kind.PREFERENCE)).records
        if "hiking" in r.text
    ]
    assert one.strength == 2
    assert one.meta["reinforcements"][0]["session"] == "s2"
    assert {"source", "at"} <= one.meta["reinforcements"][0].keys()


@pytest.mark.covers("S3.40")
@pytest.mark.parametrize("scope", [ANN, (*ANN, "project", "p")])
def test_a_contradiction_supersedes_and_is_linked(
    engine: MemoryEngine, scope: tuple[str, ...]
) -> None:
    """The old statement is inactive and names the new one; supersedes and contradicts lead to it,
    of the person as in a project.
    """
    engine.add("I live in Paris.", scope=scope)
    new = engine.add("I moved to Berlin.", scope=scope).derived[0].id
    (old,) = [
        record
        for record in engine.list(
            scope=scope, statuses=(Status.SUPERSEDED,), kinds=(Kind.FACT,)
        ).records
        if "Paris" in record.text
    ]
    assert old.superseded_by == new
    types = {
        edge.type
        for edge in engine.inspect.edges(old.scope.owner, [old.id])
        if (edge.source, edge.target) == (new, old.id)
    }
    assert {EdgeType.SUPERSEDES, EdgeType.CONTRADICTS} <= types


@pytest.mark.covers("S3.51", "S3.52")
@pytest.mark.parametrize(
    "text", ["AWS key AKIAIOSFODNN7EXAMPLE and secret wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"]
)
def test_no_secret_is_kept(engine: MemoryEngine, text: str) -> None:
    """Both halves of a credential are blacked out before the store sees them, and the receipt says
    so.
    """
    receipt = engine.add(text, scope=ANN)
    kept = json.dumps([record.text for record in engine.list(scope=ANN).records])
    assert "AKIAIOSFODNN7EXAMPLE" not in kept
    assert "wJalrXUtnFEMI" not in kept
    assert receipt.outcome == "redacted"


@pytest.mark.covers("S3.53")
def test_memory_can_be_off(home: Path) -> None:
    """Nothing is written, shown or run."""
    with engrams.open(home=home, preset="graph", enabled=False) as engine:
        assert engine.add("I keep bees", scope=ANN).outcome == "refused"
        assert engine.context("bees", scope=ANN).text == ""
    assert not home.exists() or not list(home.rglob("*.db"))
