"""The three layers' document (004):
its two logs, the notebook and the wipe, at ``engrams serve --preset layers`` and the command.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from tests.acceptance.process import Door, run, served

from engrams import admin
from engrams.settings import load
from engrams.testing import ScriptedModel, ScriptedReply, SettableClock

CRISIS = {"session": "sesame", "classifier": "rules", "severity": "high"}
LIKED = {"session": "sesame", "label": "positive", "source": "button", "modality": "voice"}


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    home = tmp_path_factory.mktemp("records") / "home"
    with (
        ScriptedModel(answer=lambda request: ScriptedReply(f"reply to {request.text}")) as model,
        served(
            "layers",
            home,
            model,
            "--upstream",
            f"{model.url}/v1",
            "--set",
            "serve.upstream_learns=false",
        ) as door,
    ):
        yield door


@pytest.mark.covers("S4.55", "S4.56")
def test_a_crisis_is_kept_once_without_words(door: Door) -> None:
    """Once by its key, the session as a hash, the reason cut, no place for a text;
    listed by day; a purge keeps the day it names.
    """
    told = [
        door.client.post(
            "/v1/safety", json={**CRISIS, "reason": "r" * 600}, headers={"idempotency-key": "1"}
        )
        for _ in range(2)
    ]
    assert [answer.json()["outcome"] for answer in told] == ["stored", "known"]
    door.post("/v1/safety", {**CRISIS, "text": "I cannot go on"}, status=422)
    (kept,) = door.get("/v1/safety")["records"]
    assert (kept["reason"], kept["owner"]) == ("r" * 500, "user/ann")
    assert "sesame" not in json.dumps(kept)
    day = kept["at"][:10]
    assert len(door.get("/v1/safety", day=day)["records"]) == 1
    assert not door.get("/v1/safety", until="2020-01-01")["records"]
    assert door.delete(f"/v1/safety?before={day}") == {"purged": 0}
    assert not [
        path for path in door.home.rglob("*") if path.is_file() and b"sesame" in path.read_bytes()
    ]


@pytest.mark.covers("S4.57")
def test_feedback_is_a_choice(door: Door) -> None:
    """Positive, negative or skip, with where and how;
    null keeps nothing, and a fourth word is refused.
    """
    for label in ("positive", "negative", "skip"):
        door.post("/v1/feedback", {**LIKED, "label": label}, status=201)
    assert door.post("/v1/feedback", {**LIKED, "label": None}) == {"outcome": "dismissed"}
    door.post("/v1/feedback", {**LIKED, "label": "great"}, status=422)
    found = door.get("/v1/feedback")["records"]
    assert sorted(record["label"] for record in found) == ["negative", "positive", "skip"]
    assert {(record["source"], record["modality"]) for record in found} == {("button", "voice")}


@pytest.mark.covers("S4.53", "S4.54")
@pytest.mark.slow
def test_logs_outlive_memory(door: Door) -> None:
    """Neither log is searched or shown to a model;
    a wipe takes the exact word, by the command alone, and leaves both logs.
    """
    door.post("/v1/safety", {**CRISIS, "reason": "zyzzyva"}, status=201)
    door.post("/v1/feedback", LIKED, status=201)
    door.post("/v1/memories", {"text": "The kiln is hot"}, status=201)
    for on in (True, False):
        door.patch("/api/memory/recall", {"enabled": on})
        door.chat("zyzzyva, what is positive about the kiln?")
        assert "r" * 50 not in door.sent()
        assert "zyzzyva" not in door.sent().replace("zyzzyva, what", "")
        assert "zyzzyva" not in json.dumps(
            door.post("/v1/search", {"query": "zyzzyva"})["hits"]
        ).replace("zyzzyva, what", "")
    door.post("/api/reset", status=422)
    for word in ("y", "CLEAR", "PURGE", "yes"):
        door.run("purge", "--all", "--confirm", word, status=4)
    assert door.get("/v1/memories")["memories"]
    before = len(door.get("/v1/safety")["records"]), len(door.get("/v1/feedback")["records"])
    door.run("purge", "--all", "--confirm", "purge")
    assert not door.get("/v1/memories")["memories"]
    assert (
        len(door.get("/v1/safety")["records"]),
        len(door.get("/v1/feedback")["records"]),
    ) == before
    assert before[0] >= 1
    off = ("safety", "add", "s9", "--set", "enabled=false", "--json")
    assert json.loads(run(door.home, arguments=off))["outcome"] == "stored"


@pytest.mark.covers("S4.62")
def test_the_notebook_shows_what_is_known_by_topic(door: Door) -> None:
    """Each with the words it was learned from;
    hidden ones do not count against the limit; who is unknown has an empty one.
    """
    hers = {"x-engrams-user": "nora"}

    def book(**query: object) -> list[dict[str, object]]:
        return list(door.client.get("/v1/notebook", params=query, headers=hers).json()["topics"])

    assert book() == []
    door.client.post("/v1/memories", json={"text": "I live in Lisbon."}, headers=hers)
    for number in range(3):
        door.client.post(
            "/v1/memories",
            json={"text": f"Machine note {number}", "meta": {"hidden": True}},
            headers=hers,
        )
    shown = [memory for topic in book(limit=2) for memory in topic["memories"]]  # type: ignore[attr-defined]
    assert any("Lisbon" in memory["text"] for memory in shown)
    assert not any("Machine" in memory["text"] for memory in shown)
    (home,) = [topic for topic in book() if topic["topic"] == "home"]
    (fact,) = home["memories"]  # type: ignore[misc]
    assert fact["evidence"][0]["quote"]
    assert fact["provenance"]["extractor"]


@pytest.mark.covers("S4.56")
def test_records_have_their_time(home: Path) -> None:
    """Ninety days for a crisis and a hundred and eighty for feedback, counted from the day after."""
    clock = SettableClock(datetime(2026, 3, 10, 8, tzinfo=UTC))
    settings = load({"preset": "layers", "home": str(home)}, environ={}).settings
    safety = admin.open_safety_log(settings, clock)
    feedback = admin.open_feedback_log(settings, clock)
    safety.append_once("s", classifier="rules", severity="low")
    feedback.add("s", "positive")
    for day, kept in (
        ("2026-06-08T23:59", (1, 1)),
        ("2026-06-09T00:00", (0, 1)),
        ("2026-09-06T23:59", (0, 1)),
        ("2026-09-07T00:00", (0, 0)),
    ):
        clock.set(day)
        assert (len(safety.list()), len(feedback.list())) == kept, day
    safety.append_once("t", classifier="rules", severity="low")
    assert [safety.purge(date(2026, 9, 7)), safety.purge(date(2026, 9, 8))] == [0, 1]


@pytest.mark.covers("S4.55")
def test_a_lost_record_never_raises(home: Path) -> None:
    """A guest's record names nobody; one that cannot be written is an outcome, and is logged."""
    clock = SettableClock(datetime(2026, 3, 10, 8, tzinfo=UTC))
    guest = load(
        {"preset": "layers", "home": str(home), "sessions.mode": "guest"}, environ={}
    ).settings
    log = admin.open_safety_log(guest, clock)
    log.append_once("s", classifier="rules", severity="low", owner="user/ann")
    assert [record.owner for record in log.list()] == [None]
    barred = home / "barred"
    barred.mkdir(parents=True)
    (barred / "ledgers").write_text("in the way")
    settings = load({"preset": "layers", "home": str(barred)}, environ={}).settings
    assert admin.open_safety_log(settings, clock).append_once(
        "s", classifier="rules", severity="low"
    ) not in ("stored", "known")
