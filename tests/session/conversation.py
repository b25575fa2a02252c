"""A conversation over a real engine, for the tests of sessions."""

from __future__ import annotations

from typing import Any

import engrams
from engrams import Turn
from engrams.core import Kind, Record, Status
from engrams.session.lifecycle import SessionInfo
from engrams.testing import SettableClock

ALICE = ("user", "alice")
CLIMBING = (
    "My climbing partner Mara lives in Innsbruck.",
    "I kind of like climbing.",
    "We trained for climbing on the long wall all winter.",
    "I moved to Berlin last week.",
)
STATEMENTS = (Kind.FACT, Kind.PREFERENCE, Kind.PROCEDURE, Kind.CORRECTION, Kind.NEGATIVE, Kind.RULE)


class Conversation:
    """One engine without workers, and its clock; each turn takes a minute."""

    def __init__(self, **settings: Any) -> None:
        self.clock = settings.pop("clock", None) or SettableClock()
        given = {"store__url": ":memory:"} if "home" not in settings else {}
        self.engine = engrams.open(clock=self.clock, **given, jobs__workers=0, **settings)

    def say(self, *texts: str, session: str = "s", scope: Any = ALICE) -> None:
        """Something the user said, learned from as far as it is due."""
        for text in texts:
            self.engine.observe(Turn(text, session=session), scope=scope)
            self.clock.forward(minutes=1)
        self.engine.drain()

    def end(self, session: str = "s", scope: Any = ALICE) -> SessionInfo:
        return self.engine.sessions.end(session, scope=scope)

    def records(
        self, *kinds: Kind, statuses: tuple[Status, ...] = (Status.ACTIVE,)
    ) -> list[Record]:
        return list(
            self.engine.list(
                scope=ALICE, kinds=kinds, statuses=statuses, order="oldest", limit=500
            ).records
        )

    def facts(self, *statuses: Status) -> list[str]:
        return [
            record.text
            for record in self.records(*STATEMENTS, statuses=statuses or (Status.ACTIVE,))
        ]

    def held(self) -> list[str]:
        return self.facts(Status.CANDIDATE)

    def episodes(self) -> list[Record]:
        return self.records(Kind.EPISODE)

    def close(self) -> None:
        self.engine.close()
