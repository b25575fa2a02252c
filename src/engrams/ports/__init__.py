"""Ports.
Protocols that an engine works with: protocols, each method with one request dataclass, so that a field can be added without breaking an
implementation. Implementations never inherit from these.

Every request that touches memory carries its ``owner``; a backend must put it first in every key, so that another owner's id, filter or
cursor finds nothing."""

from __future__ import annotations

from typing import Protocol

from engrams.ports.jobs import CHANGES as CHANGES
from engrams.ports.jobs import CONDENSE as CONDENSE
from engrams.ports.jobs import EMBED as EMBED
from engrams.ports.jobs import ENFORCE as ENFORCE
from engrams.ports.jobs import EXTRACT as EXTRACT
from engrams.ports.jobs import FINALISE as FINALISE
from engrams.ports.jobs import GARDEN as GARDEN
from engrams.ports.jobs import JUDGE as JUDGE
from engrams.ports.jobs import KEPT as KEPT
from engrams.ports.jobs import PURGE as PURGE
from engrams.ports.jobs import REVIEW as REVIEW
from engrams.ports.jobs import ROLL as ROLL
from engrams.ports.jobs import SWEEP as SWEEP
from engrams.ports.jobs import TOPICS as TOPICS
from engrams.ports.jobs import WAKE as WAKE
from engrams.ports.jobs import Job as Job
from engrams.ports.jobs import JobClaim as JobClaim
from engrams.ports.jobs import JobFailure as JobFailure
from engrams.ports.jobs import JobQueue as JobQueue
from engrams.ports.jobs import UsageLedger as UsageLedger
from engrams.ports.memory import MemoryApi as MemoryApi
from engrams.ports.memory import MemoryReader as MemoryReader
from engrams.ports.models import Chat as Chat
from engrams.ports.models import ChatAnswer as ChatAnswer
from engrams.ports.models import ChatMessage as ChatMessage
from engrams.ports.models import ChatRequest as ChatRequest
from engrams.ports.models import Clock as Clock
from engrams.ports.models import Closable as Closable
from engrams.ports.models import Embedder as Embedder
from engrams.ports.models import EmbedderCard as EmbedderCard
from engrams.ports.models import MeasurableChat as MeasurableChat
from engrams.ports.models import ModelMeasurement as ModelMeasurement
from engrams.ports.models import ModelServer as ModelServer
from engrams.ports.models import RankRequest as RankRequest
from engrams.ports.models import Reranker as Reranker
from engrams.ports.models import TokenCounter as TokenCounter
from engrams.ports.purge import HomeCleaner as HomeCleaner
from engrams.ports.purge import LiveWords as LiveWords
from engrams.ports.purge import PurgeOrder as PurgeOrder
from engrams.ports.purge import PurgePlace as PurgePlace
from engrams.ports.purge import PurgeReport as PurgeReport
from engrams.ports.records import AsOf as AsOf
from engrams.ports.records import CommitResult as CommitResult
from engrams.ports.records import Condition as Condition
from engrams.ports.records import FactSlot as FactSlot
from engrams.ports.records import JobLease as JobLease
from engrams.ports.records import JobSpec as JobSpec
from engrams.ports.records import NewRecord as NewRecord
from engrams.ports.records import OutboxEntry as OutboxEntry
from engrams.ports.records import OwnerStateRow as OwnerStateRow
from engrams.ports.records import RecordChange as RecordChange
from engrams.ports.records import RecordPage as RecordPage
from engrams.ports.records import RecordQuery as RecordQuery
from engrams.ports.records import RecordStore as RecordStore
from engrams.ports.records import ScopeReach as ScopeReach
from engrams.ports.records import SessionRow as SessionRow
from engrams.ports.records import Where as Where
from engrams.ports.records import WriteBatch as WriteBatch
from engrams.ports.search import SKILL as SKILL
from engrams.ports.search import CandidatePool as CandidatePool
from engrams.ports.search import CandidateQuery as CandidateQuery
from engrams.ports.search import IndexedIds as IndexedIds
from engrams.ports.search import LinkStore as LinkStore
from engrams.ports.search import Search as Search
from engrams.ports.search import is_skill as is_skill
from engrams.ports.skills import SkillRecords as SkillRecords
from engrams.ports.state import CALIBRATION as CALIBRATION
from engrams.ports.state import GARDEN_STATE as GARDEN_STATE
from engrams.ports.state import IMPORTS as IMPORTS
from engrams.ports.state import LEARNED as LEARNED
from engrams.ports.state import PREFERENCES as PREFERENCES
from engrams.ports.state import UNSAVED as UNSAVED
from engrams.ports.state import OwnerState as OwnerState
from engrams.ports.state import Sessions as Sessions
from engrams.ports.vault import DAILY as DAILY
from engrams.ports.vault import NOTE_PIECE as NOTE_PIECE
from engrams.ports.vault import DailyNoteWriter as DailyNoteWriter
from engrams.ports.vault import MemoryFiles as MemoryFiles
from engrams.ports.vault import NoteFlush as NoteFlush
from engrams.ports.vault import Reason as Reason


class Store(RecordStore, Search, LinkStore, JobQueue, Sessions, OwnerState, UsageLedger, Protocol):
    """One backend of all ports."""
