"""/v1/safety and /v1/feedback:
who may keep, see and purge what; and that nothing of a session's words is in them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import pytest
from tests.surfaces.http.running import running

from engrams import admin
from engrams.api_keys import ApiKeyStore
from engrams.core import Scope
from engrams.engine import MemoryEngine
from engrams.program.registry import create_app
from engrams.settings import CrisisLogSettings, FeedbackSettings
from engrams.testing import SettableClock, temp_engine

CRISIS = {"session": "s1", "classifier": "rules", "severity": "high"}
LIKED = {"session": "s1", "label": "positive", "source": "button", "modality": "voice"}


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(datetime(2026, 3, 10, 8, tzinfo=UTC))


@pytest.fixture
def engine(clock: SettableClock) -> Iterator[MemoryEngine]:
    with temp_engine(user="ann", clock=clock, serve__rate_limit=0) as found:
        yield found


@pytest.fixture
def api(engine: MemoryEngine) -> Iterator[httpx2.Client]:
    """Somebody on this machine, without a key."""
    with (
        running(create_app(engine, engine.settings)) as url,
        httpx2.Client(base_url=url + "/v1", timeout=30) as client,
    ):
        yield client


@pytest.fixture
def keyed(engine: MemoryEngine) -> Iterator[Callable[..., httpx2.Client]]:
    """Clients of a server that needs keys, by user and rights."""
    settings = engine.settings.model_copy(
        update={"serve": engine.settings.serve.model_copy(update={"require_keys": "always"})}
    )
    with running(create_app(engine, settings)) as url:

        def client(user: str, *rights: str) -> httpx2.Client:
            _, secret = ApiKeyStore.open(settings.home).add(
                "test", Scope(("user", user)), rights, engine.now()
            )
            return httpx2.Client(
                base_url=url + "/v1", headers={"authorization": f"Bearer {secret}"}, timeout=30
            )

        yield client


@pytest.mark.covers("S4.55", "S4.56")
def test_a_crisis_is_kept_once_listed_by_date_and_purged(
    api: httpx2.Client, clock: SettableClock
) -> None:
    """201 the first time and 200 after it, by Idempotency-Key;
    the reason is cut; days are filtered; the day of a purge stays.
    """
    key = {"idempotency-key": "turn-7"}
    answers = [
        api.post("/safety", json={**CRISIS, "reason": "r" * 600}, headers=key) for _ in range(2)
    ]
    assert [(answer.status_code, answer.json()) for answer in answers] == [
        (201, {"outcome": "stored"}),
        (200, {"outcome": "known"}),
    ]
    clock.forward(days=1)
    api.post("/safety", json={**CRISIS, "severity": "low"}, headers={"x-engrams-user": "bob"})
    newest, oldest = api.get("/safety").json()["records"]
    assert (newest["owner"], newest["severity"], newest["reason"]) == ("user/bob", "low", "")
    assert (oldest["owner"], oldest["classifier"], oldest["reason"]) == (
        "user/ann",
        "rules",
        "r" * 500,
    )
    assert newest["session"] == oldest["session"] != "s1"
    for query, number in (
        ("day=2026-03-10", 1),
        ("since=2026-03-11", 1),
        ("owner=user/bob", 1),
        ("session=s1", 2),
        ("session=s2", 0),
    ):
        assert len(api.get(f"/safety?{query}").json()["records"]) == number, query
    assert api.delete("/safety", params={"before": "2026-03-11"}).json() == {"purged": 1}
    assert api.get("/safety").json()["records"] == [newest]


@pytest.mark.covers("S4.57")
def test_feedback_is_kept_listed_and_may_be_dismissed(api: httpx2.Client) -> None:
    """A label with source and modality is this person's own;
    null keeps nothing; another word is refused.
    """
    assert api.post("/feedback", json=LIKED).json() == {"outcome": "stored"}
    dismissed = api.post("/feedback", json={"session": "s1", "label": None})
    assert (dismissed.status_code, dismissed.json()) == (200, {"outcome": "dismissed"})
    assert api.post("/feedback", json={**LIKED, "label": "great"}).status_code == 422
    assert api.post("/feedback", json={"session": "s1"}).status_code == 422
    api.post("/feedback", json={**LIKED, "label": "skip"}, headers={"x-engrams-user": "bob"})
    (mine,) = api.get("/feedback").json()["records"]
    assert {name: mine[name] for name in ("label", "source", "modality", "owner")} == {
        "label": "positive",
        "source": "button",
        "modality": "voice",
        "owner": "user/ann",
    }
    assert len(api.get("/feedback", params={"everyone": True}).json()["records"]) == 2


@pytest.mark.covers("S4.55")
def test_a_crisis_has_no_place_for_what_was_said(api: httpx2.Client, engine: MemoryEngine) -> None:
    """A body with a text is refused;
    the session's name and the key are in no file, the audit log's included.
    """
    for extra in ({"text": "zyzzyva"}, {"message": "zyzzyva"}):
        assert api.post("/safety", json={**CRISIS, **extra}).status_code == 422
    api.post(
        "/safety",
        json={**CRISIS, "session": "zyzzyva"},
        headers={"idempotency-key": "zyzzyva-1"},
        params={"conversation": "zyzzyva"},
    )
    api.post("/feedback", json={**LIKED, "session": "zyzzyva"}, params={"conversation": "zyzzyva"})
    assert [record["owner"] for record in api.get("/safety").json()["records"]] == ["user/ann"]
    files = [path for path in engine.settings.home.rglob("*") if path.is_file()]
    assert any(path.name == "safety.db" for path in files)
    assert all(b"zyzzyva" not in path.read_bytes() for path in files)


def test_the_safety_log_needs_admin_and_feedback_needs_write(
    keyed: Callable[..., httpx2.Client],
) -> None:
    """The safety log takes the right `admin`, for whatever;
    feedback is given by `write` and read by `read`, everybody's by `admin`.
    """
    user = keyed("ann", "read", "write", "proxy")
    admin = keyed("ops", "read", "write", "admin")
    asked: list[tuple[str, str, dict[str, object]]] = [
        ("POST", "/safety", {"json": CRISIS}),
        ("GET", "/safety", {}),
        ("DELETE", "/safety?before=2030-01-01", {}),
    ]
    assert [user.request(method, path, **more).status_code for method, path, more in asked] == [
        403,
        403,
        403,
    ]
    assert keyed("ann", "read").post("/feedback", json=LIKED).status_code == 403
    assert keyed("ann", "write").get("/feedback").status_code == 403
    assert user.post("/feedback", json=LIKED).status_code == 201
    assert user.get("/feedback", params={"everyone": True}).status_code == 403
    assert len(admin.get("/feedback", params={"everyone": True}).json()["records"]) == 1
    assert admin.get("/feedback").json()["records"] == []
    assert admin.post("/safety", json=CRISIS, headers={"x-engrams-user": "tom"}).status_code == 201
    assert [record["owner"] for record in admin.get("/safety").json()["records"]] == [
        "user/ops/user/tom"
    ]


def test_feedback_is_seen_by_its_owner_only(keyed: Callable[..., httpx2.Client]) -> None:
    """Another key never sees it, whatever user or session it names, and the same id of two owners
    is two records.
    """
    ann = keyed("ann", "read", "write")
    bob = keyed("bob", "read", "write")
    for client in (ann, bob):
        assert client.post("/feedback", json=LIKED, headers={"idempotency-key": "1"}).json() == {
            "outcome": "stored"
        }
    for headers in ({}, {"x-engrams-user": "ann"}, {"x-engrams-owner": "user/ann"}):
        found = bob.get("/feedback", params={"session": "s1"}, headers=headers).json()["records"]
        assert {record["owner"] for record in found} <= {"user/bob", "user/bob/user/ann"}


def test_the_audit_log_has_who_looked_and_purged(api: httpx2.Client) -> None:
    """Keeping, listing and purging are events."""
    api.post("/safety", json=CRISIS)
    api.get("/safety")
    api.delete("/safety", params={"before": "2026-03-01"})
    api.post("/feedback", json=LIKED)
    actions = [entry["action"] for entry in api.get("/audit").json()["entries"]]
    assert actions == ["feedback.add", "safety.purge", "view.safety", "safety.add"]


@pytest.mark.covers("S4.39", "S4.55")
def test_an_incognito_session_is_nobodys_and_on_no_disk(
    api: httpx2.Client, engine: MemoryEngine
) -> None:
    """Whether the caller says so or the engine leads it as one, the record names nobody and is in
    this process only.
    """
    engine.sessions.begin("quiet", scope=("user", "ann"), mode="incognito")
    for body in ({**CRISIS, "session": "quiet"}, {**CRISIS, "session": "said", "incognito": True}):
        assert api.post("/safety", json=body).status_code == 201
    assert api.post("/feedback", json={**LIKED, "session": "quiet"}).status_code == 201
    assert [record["owner"] for record in api.get("/safety").json()["records"]] == [None, None]
    assert api.get("/feedback").json()["records"] == []
    assert [
        record["owner"]
        for record in api.get("/feedback", params={"everyone": True}).json()["records"]
    ] == [None]
    assert (
        admin.open_safety_log(engine.settings).list()
        == admin.open_feedback_log(engine.settings).list()
        == ()
    )
    assert not (engine.settings.home / "ledgers").exists()


@pytest.mark.covers("S4.55")
def test_a_failed_log_write_is_an_outcome_and_shows_in_health(
    api: httpx2.Client, engine: MemoryEngine
) -> None:
    """Neither log fails a request because it cannot be written;
    health counts what is lost. A closed memory does not stop them.
    """
    engine.settings.home.mkdir(parents=True, exist_ok=True)
    Path(engine.settings.home / "ledgers").write_text("in the way")
    assert (
        api.post("/safety", json=CRISIS).json()
        == api.post("/feedback", json=LIKED).json()
        == {"outcome": "lost"}
    )
    checks = httpx2.get(str(api.base_url).replace("/v1/", "/health")).json()["checks"]
    assert checks["safety"] == checks["feedback"] == {"ok": False, "lost": 1}
    Path(engine.settings.home / "ledgers").unlink()
    engine.close()
    assert (
        api.post("/safety", json=CRISIS).json()
        == api.post("/feedback", json=LIKED).json()
        == {"outcome": "stored"}
    )


@pytest.mark.covers("S4.56")
def test_a_server_deletes_old_log_records(engine: MemoryEngine, clock: SettableClock) -> None:
    """It does so by itself, without a new record:
    ninety days after a crisis, a hundred and eighty after feedback.
    """
    admin.open_safety_log(engine.settings, clock).append_once(
        "s1", classifier="rules", severity="low"
    )
    admin.open_feedback_log(engine.settings, clock).add("s1", "skip")
    ever = engine.settings.model_copy(
        update={"safety": CrisisLogSettings(days=9999), "feedback": FeedbackSettings(days=9999)},
    )

    def left(days: int, expected: tuple[int, int]) -> tuple[int, int]:
        """What is in the files once a server that was started so many days later has looked."""
        clock.forward(days=days)
        found = (-1, -1)
        with running(create_app(engine, engine.settings)):
            for _ in range(100):
                found = (
                    len(admin.open_safety_log(ever, clock).list()),
                    len(admin.open_feedback_log(ever, clock).list()),
                )
                if found == expected:
                    break
                time.sleep(0.02)
        return found

    assert left(91, (0, 1)) == (0, 1)
    assert left(90, (0, 0)) == (0, 0)
