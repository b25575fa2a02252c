"""What the tests of the write flow share:
a store in memory, a clock that is set, and a flow over both.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from engrams.core import Kind, Record, Scope, Status, Turn
from engrams.ports import ChatModel, Embedder, RecordQuery, ScopeReach, WriteBatch
from engrams.settings import Settings, StoreSettings
from engrams.store.sqlite import SqliteStore
from engrams.write import write_pipeline
from engrams.write.dependencies import WriteDeps
from engrams.write.turn_conversion import TurnIngestRecords, journal_turns

ALICE = Scope.of(("user", "alice"))


def digest_records(
    records: Sequence[Record], deps: WriteDeps, *, echoes: Collection[str] = ()
) -> write_pipeline.ExtractionBatch:
    """Learn from journaled records: one batch to commit."""
    return write_pipeline.reconcile_extraction(
        write_pipeline.extract_candidates(records, deps, echoes=echoes), deps
    )


class Talk:
    """One owner's conversation over a real store:
    each statement is journaled, digested and committed ten days after the last.
    """

    def __init__(self, **write: object) -> None:
        self.now = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
        self.store = SqliteStore.open(":memory:", StoreSettings(), lambda: self.now)
        self.settings = Settings().model_copy(
            update={"write": Settings().write.model_copy(update=write)}
        )
        self.chat: ChatModel | None = None
        self.embedder: Embedder | None = None
        self.last: write_pipeline.ExtractionBatch | None = None
        self.journaled: TurnIngestRecords | None = None

    @property
    def deps(self) -> WriteDeps:
        return WriteDeps(
            records=self.store,
            settings=self.settings.write,
            limits=self.settings.limits,
            clock=lambda: self.now,
            search=self.store,
            embedder=self.embedder,
            chat=self.chat,
        )

    def put(
        self, *turns: Turn | str, scope: Scope = ALICE, kind: Kind = Kind.TURN, channel: str = ""
    ) -> TurnIngestRecords:
        """Journal only."""
        some = [Turn(turn, session="s1") if isinstance(turn, str) else turn for turn in turns]
        self.journaled = journal_turns(some, scope, self.deps, kind=kind, channel=channel)
        self.store.commit(WriteBatch("test", "said", self.now, puts=self.journaled.puts))
        return self.journaled

    def say(
        self, *turns: Turn | str, scope: Scope = ALICE, kind: Kind = Kind.TURN, channel: str = ""
    ) -> write_pipeline.ExtractionBatch:
        """Journal, learn, and let ten days pass."""
        journaled = self.put(*turns, scope=scope, kind=kind, channel=channel)
        self.last = digest_records(journaled.records, self.deps)
        self.store.commit(self.last.batch)
        self.now += timedelta(days=10)
        return self.last

    def facts(self, *statuses: Status, scope: Scope = ALICE) -> list[Record]:
        """The statements with one of these statuses (none: active), oldest first."""
        reach = ScopeReach(scope.owner, (scope,), tree=True)
        return list(
            self.store.find(
                RecordQuery(
                    reach,
                    write_pipeline.STATEMENTS,
                    statuses or (Status.ACTIVE,),
                    order="oldest",
                    limit=500,
                )
            ).records
        )

    def texts(self, *statuses: Status) -> list[str]:
        return [record.text for record in self.facts(*statuses)]


@pytest.fixture
def talk() -> Iterator[Talk]:
    made = Talk()
    yield made
    made.store.close()
