"""What the tests of the write flow share:
a store in memory, a clock that is set, and a flow over both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from engrams.core import STATEMENT_KINDS, Kind, Record, Scope, Status, Turn
from engrams.core.process_peers import ProcessPeers
from engrams.models.embed.null import NullEmbedder
from engrams.ports import ChatModel, Embedder, RecordQuery, ScopeReach, WriteBatch
from engrams.settings import Settings, StoreSettings
from engrams.store.sqlite import SqliteStore
from engrams.write.announced_texts import AnnouncedTextLog
from engrams.write.extraction import extract_candidates
from engrams.write.guards import NoSaveRequestLog, WriteGuards
from engrams.write.ingest_request import IngestDeps, IngestRequest
from engrams.write.journal import JournalEntry, journal
from engrams.write.privacy_modes import IncognitoSessions
from engrams.write.prompt_fingerprints import InjectedContextFingerprints
from engrams.write.reconcile import DigestResult, reconcile_extraction
from engrams.write.session_rows import EarlyCrisisTable, SpokenSessionLog
from engrams.write.write_deps import WriteDeps

ALICE = Scope.of(("user", "alice"))


def digest_records(records: Sequence[Record], deps: WriteDeps) -> DigestResult:
    """Learn from journaled records: one batch to commit."""
    return reconcile_extraction(extract_candidates(records, deps), deps)


def journal_turns(
    turns: Sequence[Turn],
    deps: WriteDeps,
    scope: Scope = ALICE,
    kind: Kind = Kind.TURN,
    channel: str = "",
) -> JournalEntry:
    """Prepare turns to be stored."""
    peers = ProcessPeers()
    return journal(
        turns,
        IngestRequest(tuple(turns), scope, kind, channel),
        IngestDeps(
            write=deps,
            guards=WriteGuards(
                deps,
                IncognitoSessions(),
                NoSaveRequestLog(deps.store, peers),
                AnnouncedTextLog(peers),
            ),
            injected=InjectedContextFingerprints(peers),
            spoken_sessions=SpokenSessionLog(deps.settings),
            early_crises=EarlyCrisisTable(peers),
        ),
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
        self.embedder: Embedder = NullEmbedder()
        self.last: DigestResult | None = None
        self.journaled: JournalEntry | None = None

    @property
    def deps(self) -> WriteDeps:
        return WriteDeps(self.store, self.embedder, lambda: self.now, self.settings, self.chat)

    def put(
        self, *turns: Turn | str, scope: Scope = ALICE, kind: Kind = Kind.TURN, channel: str = ""
    ) -> JournalEntry:
        """Journal only."""
        spoken = [Turn(turn, session="s1") if isinstance(turn, str) else turn for turn in turns]
        self.journaled = journal_turns(spoken, self.deps, scope, kind, channel)
        self.store.commit(WriteBatch("test", "said", self.now, puts=self.journaled.puts))
        return self.journaled

    def say(
        self, *turns: Turn | str, scope: Scope = ALICE, kind: Kind = Kind.TURN, channel: str = ""
    ) -> DigestResult:
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
                    STATEMENT_KINDS,
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
