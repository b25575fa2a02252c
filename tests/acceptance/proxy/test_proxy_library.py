"""The chat proxy's document (002): its client, ranking and command, with that preset."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from math import exp
from pathlib import Path

import pytest
from tests.acceptance.process import run

import engrams
from engrams import AsyncMemoryEngine, MemoryEngine, Turn
from engrams.adapters import MemoryClient
from engrams.core import Kind, Record, Scope, Status
from engrams.errors import EngramsError
from engrams.ports import Condition, NewRecord, Operator, Where, WriteBatch
from engrams.testing import ScriptedModel, SettableClock, temp_engine

ANN = ("user", "ann")
CHAT = (*ANN, "conversation", "c1")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(START)


def opened(home: Path, clock: SettableClock, **more: object) -> MemoryEngine:
    return engrams.open(
        home=home, preset="proxy", clock=clock, jobs__workers=0, vault__enabled=False, **more
    )


@pytest.fixture
def engine(home: Path, clock: SettableClock) -> Iterator[MemoryEngine]:
    with opened(home, clock) as made:
        yield made


@pytest.mark.covers("S2.12")
async def test_the_client_chats_searches_and_adds(home: Path) -> None:
    """``chat``, ``search``, ``add`` and ``list_all``, as an async context manager."""
    with ScriptedModel() as model:
        model.when("statements", {"statements": []})
        async with MemoryClient.open(
            f"{model.url}/v1",
            model="m",
            path=home,
            user="ann",
            jobs__workers=0,
            vault__git=False,
            chat__retries=0,
        ) as client:
            receipt = await client.add("The spare key is under the blue pot", "work")
            assert (await client.search("spare key", "work"))[0]["id"] == receipt.id
            model.say("Under the blue pot.")
            answer = await client.chat(
                [{"role": "user", "content": "Where is the spare key?"}], "work"
            )
            assert answer["memory_hits"][0]["id"] == receipt.id
            assert await client.list_all("work")
            assert await client.list_all("other") == []


@pytest.mark.covers("S2.12")
async def test_the_engine_chats(home: Path) -> None:
    """``MemoryEngine.chat``:
    words or messages in, the answer and what was recalled out; both are stored, and learned from.
    """
    with ScriptedModel() as model:
        said = {
            "turn": 1,
            "text": "The user keeps the spare key under the blue pot",
            "quote": "under the blue pot",
        }
        model.when(
            "blue pot",
            {
                "statements": [
                    {**said, "subject": "user", "predicate": "keeps", "object": "the spare key"}
                ]
            },
        )
        chat = {
            "chat__provider": "openai",
            "chat__url": f"{model.url}/v1",
            "chat__model": "m",
            "chat__retries": 0,
        }
        with engrams.open(
            home=home, preset="proxy", jobs__workers=0, vault__git=False, **chat
        ) as engine:
            model.say("Noted.")
            first = engine.chat("I keep the spare key under the blue pot.", scope=CHAT)
            assert (first.text, first.hits) == ("Noted.", ())
            assert model.requests[-1].messages == (
                ("user", "I keep the spare key under the blue pot."),
            )
            engine.drain()
            assert [one.text for one in engine.list(scope=CHAT, kinds=(Kind.FACT,)).records] == [
                said["text"]
            ]
            model.say("Under the blue pot.")
            asked = [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Where is the spare key?"},
            ]
            answer = await AsyncMemoryEngine(engine).chat(asked, scope=CHAT, session="s", limit=1)
            assert (answer.text, answer.model) == ("Under the blue pot.", "m")
            assert [hit.record.text for hit in answer.hits] == [
                "I keep the spare key under the blue pot."
            ]
            sent = model.requests[-1].messages
            assert sent[0] == ("system", "Be brief.")
            assert "under the blue pot" in sent[1][1] and sent[1][1].endswith(
                "Where is the spare key?"
            )
            assert [
                one.text
                for one in engine.list(
                    scope=CHAT, kinds=(Kind.TURN,), where={"role": "assistant"}
                ).records
            ]
            model.say("Hello.")
            assert engine.chat("Where is the spare key?", scope=CHAT, limit=0).context is None
            with pytest.raises(EngramsError, match="no question"):
                engine.chat([{"role": "system", "content": "x"}], scope=CHAT)
    with temp_engine() as engine, pytest.raises(EngramsError, match="no chat model"):
        engine.chat("hello", scope=CHAT)


@pytest.mark.covers("S2.26", "S2.27")
def test_a_reranker_prunes_below_its_threshold(home: Path, clock: SettableClock) -> None:
    """Where a reranker is configured, what it judges below 0.35 is gone, however near it was;
    with a threshold of 0 nothing is.
    """
    with ScriptedModel(score=lambda _query, text: 0.9 if "garage" in text else 0.1) as model:
        judge = {
            "rerank__provider": "http",
            "rerank__url": f"{model.url}/v1",
            "rerank__model": "m",
            "rerank__seconds": 20,
        }
        with opened(home, clock, **judge) as engine:
            assert engine.settings.rerank.threshold == 0.35
            for text in ("The spare key hangs in the garage", "The spare key of the boat is lost"):
                engine.add(Turn(text), scope=CHAT, kind=Kind.FACT)
            found = engine.search("Where is the spare key?", scope=CHAT)
            assert [hit.record.text for hit in found.hits] == ["The spare key hangs in the garage"]
            assert any(row.dropped.startswith("judged 0.10") for row in found.trace.rows)
        with opened(home, clock, **judge, rerank__threshold=0.0) as engine:
            assert len(engine.search("Where is the spare key?", scope=CHAT).hits) == 2


@pytest.mark.covers("S2.28", "S2.29")
def test_variety_and_recency(engine: MemoryEngine, clock: SettableClock) -> None:
    """Of near-identical facts one comes before distinct ones;
    the newer of two equals is ahead; hits stand best first.
    """
    for number in range(5):
        engine.add(
            Turn(f"Ann likes coffee very much, said {number} times"), scope=CHAT, kind=Kind.FACT
        )
    engine.add(Turn("Ann likes hiking in coffee country Peru"), scope=CHAT, kind=Kind.FACT)
    engine.add(Turn("Ann likes coffee cups of old Delft porcelain"), scope=CHAT, kind=Kind.FACT)
    found = engine.search("What coffee does Ann like?", scope=CHAT, limit=3).hits
    assert sum("times" in hit.record.text for hit in found) < 3
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    first = engine.add(Turn("The ferry departs at noon"), scope=CHAT, kind=Kind.FACT).id
    clock.forward(days=40)
    engine.add(Turn("The ferry departs at one"), scope=CHAT, kind=Kind.FACT)
    assert engine.search("When does the ferry depart?", scope=CHAT).hits[0].record.id != first


@pytest.mark.covers("S2.33")
def test_filters(engine: MemoryEngine) -> None:
    """eq, ne, gt, gte, lt, lte, in, nin and or;
    several tests all hold; an unknown operator raises.
    """
    for text, importance in (("Oak one", 0.2), ("Oak two", 0.5), ("Oak three", 0.8)):
        name = engine.add(Turn(text), scope=CHAT, kind=Kind.FACT).id
        engine.edit(name, scope=CHAT, fields={"importance": importance})

    def found(*tests: tuple[str, str, object], either: bool = False) -> set[str]:
        where = Where("or" if either else "and", tuple(Condition(*test) for test in tests))
        return {
            hit.record.text.split()[1] for hit in engine.search("oak", scope=CHAT, where=where).hits
        }

    assert found(("importance", "gt", 0.2), ("importance", "lt", 0.8)) == {"two"}
    assert found(("importance", "gte", 0.5)) == {"two", "three"}
    assert found(("importance", "lte", 0.2), ("importance", "eq", 0.8), either=True) == {
        "one",
        "three",
    }
    assert found(("importance", "in", [0.2, 0.5])) == {"one", "two"}
    assert found(("importance", "nin", [0.2]), ("importance", "ne", 0.5)) == {"three"}
    with pytest.raises(EngramsError):
        found(("importance", "about", 0.5))

    def list_found(where: dict[str, object]) -> set[str]:
        return {
            hit.record.text.split()[1] for hit in engine.search("oak", scope=CHAT, where=where).hits
        }

    assert list_found({"importance": {"$gte": 0.3, "$lt": 0.7}}) == {"two"}
    either = {"$or": [{"importance": {"$lt": 0.3}}, {"importance": {"gt": 0.7}}]}
    assert list_found(either) == {"one", "three"}
    assert list_found({**either, "importance": {"$ne": 0.8}}) == {"one"}
    assert list_found({"$and": [either, {"importance": {"$in": [0.8, 0.5]}}]}) == {"three"}
    for wrong in ({"$or": []}, {"$or": [{}]}, {"$or": "one"}, {"$nor": [{}]}, {"kind": {"$x": 1}}):
        with pytest.raises(EngramsError):
            list_found(wrong)


@pytest.mark.covers("S2.47")
def test_the_oldest_entries_go_first(home: Path, clock: SettableClock) -> None:
    """Over the cap of a conversation the oldest turns and facts are put away, and can be restored."""
    with opened(home, clock, caps__entries=3) as engine:
        ids = []
        for number in range(5):
            clock.forward(seconds=1)
            ids.append(
                engine.add(Turn(f"Entry number {number} of the log"), scope=CHAT, kind=Kind.FACT).id
            )
        engine.tiers.enforce(CHAT)
        assert {record.id for record in engine.list(scope=CHAT).records} == set(ids[2:])
        assert engine.get(ids[0], scope=CHAT).status is Status.FORGOTTEN


@pytest.mark.slow
@pytest.mark.covers("S2.48", "S2.49", "S2.11")
def test_add_takes_lines_and_lists(home: Path) -> None:
    """``import -`` takes lines without their bullets;
    nothing to add is an error; -c sets the conversation.
    """
    run(
        home,
        arguments=("import", "--preset", "proxy", "-"),
        stdin="- I keep bees\n2. I row on Sundays\n",
    )
    shown = run(home, arguments=("list", "--preset", "proxy", "--json"))
    assert "I keep bees" in shown
    assert "- I keep bees" not in shown
    run(home, arguments=("add", "--preset", "proxy", ""), status=1)


@pytest.mark.covers("S2.29")
def test_variety_is_a_setting(home: Path, clock: SettableClock) -> None:
    """One of five that say the same, then what differs;
    with 1 the order is relevance alone; the first is always the best; 0 is none.
    """
    said = [f"Ann likes coffee, said {number} times" for number in range(5)]
    other = ["Ann likes coffee, hiking Peru", "Ann likes coffee, cups Delft"]

    def found(engine: MemoryEngine, limit: int = 3) -> list[str]:
        return [
            hit.record.text
            for hit in engine.search("Ann likes coffee", scope=CHAT, limit=limit).hits
        ]

    with opened(home, clock) as engine:
        for text in (*said, *other):
            engine.add(Turn(text), scope=CHAT, kind=Kind.FACT)
        best = engine.explain("Ann likes coffee", scope=CHAT, limit=7).trace.rows[0].text
        varied = found(engine)
        assert varied[0] == best
        assert set(other) <= set(varied)
        assert len(set(said) & set(varied)) == 1
        assert found(engine, 0) == []
    with opened(home, clock, read__mmr_lambda=1.0) as engine:
        assert set(found(engine)) <= set(said)
    with opened(home, clock, embed__provider="null") as engine:
        assert len(found(engine)) == 3, "without vectors nothing is taken for alike"


@pytest.mark.covers("S2.27")
def test_without_a_threshold_nothing_is_pruned(home: Path, clock: SettableClock) -> None:
    """The judged relevance decides the order, and none is dropped for it;
    without a reranker the threshold is not in effect.
    """
    with ScriptedModel(score=lambda _query, text: 0.9 if "garage" in text else 0.01) as model:
        judge = {
            "rerank__provider": "http",
            "rerank__url": f"{model.url}/v1",
            "rerank__model": "m",
            "rerank__seconds": 20,
        }
        with opened(home, clock, **judge, rerank__threshold=0.0) as engine:
            for text in ("The spare key of the boat is lost", "The spare key hangs in the garage"):
                engine.add(Turn(text), scope=CHAT, kind=Kind.FACT)
            found = engine.search("Where is the spare key?", scope=CHAT).hits
            assert found[0].record.text.endswith("garage")
            assert len(found) == 2
    with opened(home, clock) as engine:
        assert len(engine.search("Where is the spare key?", scope=CHAT).hits) == 2


@pytest.mark.covers("S2.27")
def test_a_cross_encoder_prunes_by_the_sigmoid_of_its_logit(
    home: Path, tmp_path: Path, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model in the process gives each memory a logit of its own. What it judges is the sigmoid:
    0.12 and 0.27 are under the preset's 0.35 and gone, 0.38 stands although its logit is below
    0. A variable without a value takes the threshold away, and then all stand.
    """
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tokenizers")
    logits = {"north": -2.0, "south": -1.0, "east": -0.5, "west": 2.0}
    graph = importlib.import_module("tests.models.rerank.graph")
    judge = {
        "rerank__provider": "local",
        "rerank__model": str(graph.write(tmp_path / "tiny", logits)),
        "rerank__seconds": 20,
    }
    with opened(home, clock, **judge) as engine:
        for name in logits:
            engine.add(Turn(f"The {name} shed has a key"), scope=CHAT, kind=Kind.FACT)
        found = engine.search("Which shed has a key?", scope=CHAT)
        judged = {hit.record.text.split()[1]: hit.parts["rerank"] for hit in found.hits}
        assert judged == {
            name: pytest.approx(1 / (1 + exp(-logits[name])), abs=1e-4) for name in ("west", "east")
        }
        assert sorted(row.dropped[:11] for row in found.trace.rows if row.dropped) == [
            "judged 0.12",
            "judged 0.27",
        ]
    monkeypatch.setenv("ENGRAMS_RERANK__THRESHOLD", "")
    with opened(home, clock, **judge) as engine:
        assert engine.settings.rerank.threshold is None
        assert len(engine.search("Which shed has a key?", scope=CHAT).hits) == len(logits)


@pytest.mark.covers("S2.55")
def test_files_metadata_are_filters(home: Path, clock: SettableClock) -> None:
    """By role, conversation, time and what replaced it."""
    with opened(home, clock) as engine:
        for chat, role in (("c1", "user"), ("c1", "assistant"), ("c2", "user")):
            engine.observe(
                Turn(f"The ferry of {chat} leaves, says the {role}", role),
                scope=(*ANN, "conversation", chat),
            )  # type: ignore[arg-type]
        clock.forward(days=2)
        old = engine.add("I live in Paris.", scope=CHAT).derived[0].id
        new = engine.add("I moved to Berlin.", scope=CHAT).derived[0].id

        def found(*tests: tuple[str, str, object], **more: object) -> list[str]:
            where = Where("and", tuple(Condition(*test) for test in tests))
            return [record.text for record in engine.list(scope=ANN, where=where, **more).records]

        assert found(("role", "eq", "assistant")) == ["The ferry of c1 leaves, says the assistant"]
        assert (
            len(found(("scope", "eq", "user/ann/conversation/c1"), ("text", "contains", "ferry")))
            == 2
        )
        assert len(found(("recorded_at", "lt", "2026-03-02T00:00:00+00:00"))) == 3
        gone = found(
            ("superseded_by", "eq", new), statuses=(Status.SUPERSEDED,), kinds=(Kind.FACT,)
        )
        assert gone == [engine.get(old, scope=ANN).text]


@pytest.mark.covers("S2.33", "S2.55")
@pytest.mark.parametrize(
    ("name", "op", "value", "expected"),
    [
        ("conversation_id", "in", ["c1", "c3"], "one summary"),
        ("conversation_id", "nin", ["c1"], "two own summary"),
        ("conversation_id", "exists", True, "one two summary"),
        ("conversation_id", "exists", False, "own"),
        ("summary_kind", "eq", "conversation", "summary"),
        ("summary_kind", "exists", False, "one two own"),
        ("summary_kind", "exists", True, "summary"),
        ("summary_kind", "ne", "conversation", "one two own"),
        ("summary_kind", "in", ["conversation", "short"], "summary"),
    ],
)
def test_a_conversation_and_a_kind_of_summary_take_every_comparison(
    home: Path, clock: SettableClock, name: str, op: Operator, value: object, expected: str
) -> None:
    """A memory outside of conversations has no conversation; what is no summary has no kind of one,
    and both are found by that.
    """
    with opened(home, clock) as engine:
        for text, scope in (("one", "c1"), ("two", "c2")):
            engine.add(text + " boat", scope=(*ANN, "conversation", scope))
        engine.add("own boat", scope=ANN)
        summary = Record(
            "0000000000388bfc376201e1b1",
            Scope((*ANN, "conversation", "c3")),
            Kind.SUMMARY,
            "summary of boats",
            START,
            category="conversation",
        )
        engine.store.commit(WriteBatch("test", "add", START, puts=(NewRecord(summary),)))
        where = Where("and", (Condition(name, op, value),))
        records = engine.list(scope=ANN, where=where, order="oldest").records
        assert " ".join(record.text.split()[0] for record in records) == expected


@pytest.mark.covers("S2.26")
def test_three_times_as_many_candidates_are_judged(home: Path, clock: SettableClock) -> None:
    """Of twenty that are near, a search for five in one scope looks at fifteen; a summary is none of
    them.
    """
    judged: set[str] = set()

    def score(_query: str, text: str) -> float:
        judged.add(text)
        return 0.9

    with ScriptedModel(score=score) as model:
        judge = {
            "rerank__provider": "http",
            "rerank__url": f"{model.url}/v1",
            "rerank__model": "m",
            "rerank__seconds": 20,
        }
        with opened(home, clock, **judge) as engine:
            engine.add(
                Turn("The spare key, the spare key, the spare key"), scope=ANN, kind=Kind.SUMMARY
            )
            for number in range(20):
                text = f"The spare key number {number} hangs in the garage"
                engine.add(Turn(text), scope=ANN, kind=Kind.FACT)
            found = engine.search("Where is the spare key?", scope=ANN)
            assert len(found.hits) == 5
            assert len(judged) == 15
            assert not [text for text in judged if "the spare key, the" in text]


@pytest.mark.covers("S2.28")
def test_the_score_is_relevance_and_a_fifth_recency(home: Path, clock: SettableClock) -> None:
    """Four fifths of what a reranker judges and a fifth of exp(-age in days / 30); what lies in the
    future is new.
    """
    with ScriptedModel(score=lambda _query, text: 0.9 if "key" in text else 0.1) as model:
        judge = {
            "rerank__provider": "http",
            "rerank__url": f"{model.url}/v1",
            "rerank__model": "m",
            "rerank__seconds": 20,
        }
        with opened(home, clock, **judge) as engine:
            for place, days in (("garage", 30), ("kitchen", 0), ("attic", -5)):
                at = START + timedelta(days=40 - days)
                engine.add(
                    Turn(f"A spare key hangs in the {place}", at=at), scope=CHAT, kind=Kind.FACT
                )
            clock.forward(days=40)
            hits = engine.search("Where is the spare key?", scope=CHAT).hits
            scores = {hit.record.text.rpartition(" ")[2]: hit.score for hit in hits}
            assert scores == pytest.approx(
                {"garage": 0.8 * 0.9 + 0.2 * exp(-1), "kitchen": 0.92, "attic": 0.92}, abs=1e-3
            )


@pytest.mark.covers("S2.47")
def test_the_cap_of_a_conversation_holds_by_itself(home: Path, clock: SettableClock) -> None:
    """Nobody has to ask: after each entry the oldest go to ``deleted``, down to the cap; a summary
    is no entry, and no limit is no limit.
    """
    for cap, left in ((5, 5), (0, 7)):
        with engrams.open(
            home=home / str(cap),
            preset="proxy",
            clock=clock,
            jobs__workers=0,
            vault__git=False,
            caps__entries=cap,
        ) as engine:
            summary = engine.add(Turn("The log so far"), scope=CHAT, kind=Kind.SUMMARY)
            for number in range(7):
                clock.forward(seconds=1)
                engine.add(Turn(f"Entry number {number} of the log"), scope=CHAT, kind=Kind.FACT)
            engine.drain()
            kept = engine.list(scope=CHAT, kinds=(Kind.FACT,), limit=50, order="oldest").records
            assert [record.text for record in kept] == [
                f"Entry number {number} of the log" for number in range(7 - left, 7)
            ]
            assert engine.get(summary.id, scope=CHAT).status is Status.ACTIVE
            put_away = list((home / str(cap) / "vault").glob("deleted/**/facts/*.md"))
            assert len(put_away) == 7 - left


@pytest.mark.covers("S2.47")
def test_the_cap_holds_after_each_message(home: Path, clock: SettableClock) -> None:
    """Messages of which nothing is learned are entries, too, and each one is counted."""
    with opened(home, clock, caps__entries=3, write__extract="off") as engine:
        for number in range(5):
            engine.observe(Turn(f"Message number {number} of the log"), scope=CHAT)
            engine.drain()
            kept = engine.list(scope=CHAT, kinds=(Kind.TURN,), limit=50).records
            assert len(kept) == min(number + 1, 3)


@pytest.mark.covers("S2.47")
def test_the_cap_counts_the_facts_of_the_last_message(home: Path, clock: SettableClock) -> None:
    """A fact that is learned after its message was stored does not stay above the cap."""
    settings = {"chat__provider": "openai", "chat__model": "m", "write__debounce_seconds": 60.0}
    with (
        ScriptedModel() as model,
        opened(home, clock, caps__entries=3, chat__url=model.url, **settings) as engine,
    ):
        for text in ("I play the cello", "My sister is called Mia", "I work at Acme"):
            model.when(
                rf'\[1\] .*"{text}"', {"statements": [{"turn": 1, "text": text, "quote": text}]}
            )
            engine.observe(Turn(text), scope=CHAT)
            for _ in ("its storage", "its extraction"):
                while engine.work.run_job():
                    pass
                clock.forward(minutes=5)
        entries = engine.list(scope=CHAT, limit=50, kinds=(Kind.TURN, Kind.FACT)).records
        assert len(entries) == 3
        assert {record.kind for record in entries if "Acme" in record.text} == {
            Kind.TURN,
            Kind.FACT,
        }


@pytest.mark.covers("S2.29", "S2.44")
def test_how_much_somebody_likes_it_is_no_part_of_it(
    engine: MemoryEngine, clock: SettableClock
) -> None:
    """Who loves jazz very much and then hates jazz has one opinion of jazz, the newer; five ways to
    like coffee are one fact. Who does not drink tea a lot still drinks tea.
    """
    engine.add("I love jazz very much.", scope=CHAT)
    clock.forward(days=1)
    engine.add("I hate jazz.", scope=CHAT)
    for degree in (" a lot", " very much", " so much", "", " a great deal"):
        engine.add(f"I like coffee{degree}.", scope=CHAT)
    engine.add("I don't drink tea a lot.", scope=CHAT)
    opinions = engine.list(scope=CHAT, kinds=(Kind.PREFERENCE,)).records
    assert sorted(record.object for record in opinions) == ["coffee", "jazz"]
    assert "I hate jazz" in {record.text for record in opinions}
    assert not engine.list(scope=CHAT, where={"object": "tea"}).records


@pytest.mark.covers("S2.15", "S2.19")
def test_each_file_of_a_conversation_names_it(home: Path, clock: SettableClock) -> None:
    """``conversation_id`` stands in the file of a memory that was added and of the fact learned from
    it, as of a turn; memory that is made anew from the files has the same sessions.
    """
    vault = {"vault__enabled": True, "vault__git": False}
    with engrams.open(home=home, preset="proxy", clock=clock, jobs__workers=0, **vault) as engine:
        engine.add("I play the cello", scope=CHAT)
        engine.observe(Turn("The piano is out of tune", session="c1"), scope=CHAT)
        engine.drain()
        before = {record.id: record.session for record in engine.list(scope=CHAT).records}
        files = list((home / "vault" / "entries").rglob("*.md"))
        assert len(files) == len(before) >= 3
        assert all("\nconversation_id: c1\n" in file.read_text("utf-8") for file in files)
    for file in home.glob("*.db*"):
        file.unlink()
    with engrams.open(home=home, preset="proxy", clock=clock, jobs__workers=0, **vault) as engine:
        after = {record.id: record.session for record in engine.list(scope=CHAT).records}
        assert after == before and set(before.values()) == {"", "c1"}


@pytest.mark.covers("S2.52")
def test_the_end_of_a_session_leaves_a_conversation_where_it_was(
    home: Path, clock: SettableClock
) -> None:
    """No note of the user tells in another conversation what one conversation was told."""
    settings = {"home": home, "preset": "proxy", "clock": clock, "jobs__workers": 0}
    with engrams.open(**settings) as engine:
        told = (Turn("I am allergic to walnuts.", session="s1"), Turn("Noted.", "assistant"))
        engine.observe(told, scope=CHAT)
        assert engine.drain(30)
        assert engine.list(scope=CHAT, kinds=(Kind.FACT, Kind.PREFERENCE)).records
        engine.sessions.end("s1", scope=CHAT)
        assert engine.drain(30)
        other = (*ANN, "conversation", "c2")
        assert "walnuts" not in str([record.text for record in engine.list(scope=other).records])
        assert not [*(home / "vault").glob("memory/**/*.md")]
