"""Ports.
Protocols that an engine works with: protocols, each method with one request dataclass, so that a field can be added without breaking an
implementation. Implementations never inherit from these.

Every request that touches memory carries its ``owner``; a backend must put it first in every key, so that another owner's id, filter or
cursor finds nothing."""

from __future__ import annotations

from typing import Protocol

from engrams.ports.apikeytable import ApiKey as ApiKey
from engrams.ports.apikeytable import ApiKeyTable as ApiKeyTable
from engrams.ports.auditeventtable import AuditEventBatch as AuditEventBatch
from engrams.ports.auditeventtable import AuditEventQuery as AuditEventQuery
from engrams.ports.auditeventtable import AuditEventTable as AuditEventTable
from engrams.ports.auditeventtable import AuditLogEntry as AuditLogEntry
from engrams.ports.candidatesearch import SKILL as SKILL
from engrams.ports.candidatesearch import CandidatePool as CandidatePool
from engrams.ports.candidatesearch import CandidateSearch as CandidateSearch
from engrams.ports.candidatesearch import CandidateSearchQuery as CandidateSearchQuery
from engrams.ports.candidatesearch import LinkStore as LinkStore
from engrams.ports.candidatesearch import PositionedIds as PositionedIds
from engrams.ports.candidatesearch import ReachSurvey as ReachSurvey
from engrams.ports.candidatesearch import find_in_sound_index as find_in_sound_index
from engrams.ports.candidatesearch import is_skill as is_skill
from engrams.ports.fleettables import FleetTables as FleetTables
from engrams.ports.jobqueue import BEGIN as BEGIN
from engrams.ports.jobqueue import CHANGES as CHANGES
from engrams.ports.jobqueue import CONDENSE as CONDENSE
from engrams.ports.jobqueue import EMBED as EMBED
from engrams.ports.jobqueue import ENDS as ENDS
from engrams.ports.jobqueue import ENFORCE as ENFORCE
from engrams.ports.jobqueue import EXTRACT as EXTRACT
from engrams.ports.jobqueue import FINALISE as FINALISE
from engrams.ports.jobqueue import GARDEN as GARDEN
from engrams.ports.jobqueue import JUDGE as JUDGE
from engrams.ports.jobqueue import KEPT as KEPT
from engrams.ports.jobqueue import POLICY as POLICY
from engrams.ports.jobqueue import PURGE as PURGE
from engrams.ports.jobqueue import REFINES as REFINES
from engrams.ports.jobqueue import REVIEW as REVIEW
from engrams.ports.jobqueue import ROLL as ROLL
from engrams.ports.jobqueue import SWEEP as SWEEP
from engrams.ports.jobqueue import TOPICS as TOPICS
from engrams.ports.jobqueue import WAKE as WAKE
from engrams.ports.jobqueue import WEBHOOK as WEBHOOK
from engrams.ports.jobqueue import WINDOWS as WINDOWS
from engrams.ports.jobqueue import Job as Job
from engrams.ports.jobqueue import JobClaim as JobClaim
from engrams.ports.jobqueue import JobFailure as JobFailure
from engrams.ports.jobqueue import JobQueue as JobQueue
from engrams.ports.jobqueue import ModelUsageLedger as ModelUsageLedger
from engrams.ports.jobqueue import RequestLedger as RequestLedger
from engrams.ports.jobqueue import RequestWindow as RequestWindow
from engrams.ports.jobqueue import UpkeepGatekeeper as UpkeepGatekeeper
from engrams.ports.jobqueue import UpkeepObstacle as UpkeepObstacle
from engrams.ports.jobqueue import name_account as name_account
from engrams.ports.memoryapi import MemoryApi as MemoryApi
from engrams.ports.memoryapi import MemoryReader as MemoryReader
from engrams.ports.memoryfiles import CORE_PIECE as CORE_PIECE
from engrams.ports.memoryfiles import DAILY as DAILY
from engrams.ports.memoryfiles import DREAM as DREAM
from engrams.ports.memoryfiles import NOTE_PIECE as NOTE_PIECE
from engrams.ports.memoryfiles import DailyNoteWriter as DailyNoteWriter
from engrams.ports.memoryfiles import MemoryFiles as MemoryFiles
from engrams.ports.memoryfiles import NoteFlushRequest as NoteFlushRequest
from engrams.ports.memoryfiles import Reason as Reason
from engrams.ports.modelports import CHARGED_OWNER as CHARGED_OWNER
from engrams.ports.modelports import ChatAnswer as ChatAnswer
from engrams.ports.modelports import ChatMessage as ChatMessage
from engrams.ports.modelports import ChatModel as ChatModel
from engrams.ports.modelports import ChatModelMeasurement as ChatModelMeasurement
from engrams.ports.modelports import ChatRequest as ChatRequest
from engrams.ports.modelports import Clock as Clock
from engrams.ports.modelports import Closable as Closable
from engrams.ports.modelports import DiscoveredModelServer as DiscoveredModelServer
from engrams.ports.modelports import Embedder as Embedder
from engrams.ports.modelports import EmbedderCard as EmbedderCard
from engrams.ports.modelports import JudgementCounter as JudgementCounter
from engrams.ports.modelports import MeasurableChat as MeasurableChat
from engrams.ports.modelports import ModelFollower as ModelFollower
from engrams.ports.modelports import Reranker as Reranker
from engrams.ports.modelports import RerankRequest as RerankRequest
from engrams.ports.modelports import TokenCounter as TokenCounter
from engrams.ports.processpeers import ProcessPeers as ProcessPeers
from engrams.ports.processpeers import SharedTable as SharedTable
from engrams.ports.purgetypes import HomeFileCleaner as HomeFileCleaner
from engrams.ports.purgetypes import LiveWords as LiveWords
from engrams.ports.purgetypes import PurgeOrder as PurgeOrder
from engrams.ports.purgetypes import PurgePlaceCheck as PurgePlaceCheck
from engrams.ports.purgetypes import PurgeReport as PurgeReport
from engrams.ports.recordstore import AsOf as AsOf
from engrams.ports.recordstore import ChangedRecords as ChangedRecords
from engrams.ports.recordstore import CommitResult as CommitResult
from engrams.ports.recordstore import Condition as Condition
from engrams.ports.recordstore import FactSlot as FactSlot
from engrams.ports.recordstore import JobLease as JobLease
from engrams.ports.recordstore import JobSpec as JobSpec
from engrams.ports.recordstore import NewRecord as NewRecord
from engrams.ports.recordstore import OutboxEntry as OutboxEntry
from engrams.ports.recordstore import OwnerStateRow as OwnerStateRow
from engrams.ports.recordstore import RecordChange as RecordChange
from engrams.ports.recordstore import RecordPage as RecordPage
from engrams.ports.recordstore import RecordQuery as RecordQuery
from engrams.ports.recordstore import RecordStore as RecordStore
from engrams.ports.recordstore import RecordUse as RecordUse
from engrams.ports.recordstore import ScopeReach as ScopeReach
from engrams.ports.recordstore import SessionRow as SessionRow
from engrams.ports.recordstore import StorageUse as StorageUse
from engrams.ports.recordstore import Where as Where
from engrams.ports.recordstore import WriteBatch as WriteBatch
from engrams.ports.sessionlogs import SessionLogName as SessionLogName
from engrams.ports.sessionlogs import SessionLogRow as SessionLogRow
from engrams.ports.sessionlogs import SessionLogSearch as SessionLogSearch
from engrams.ports.sessionlogs import SessionLogTable as SessionLogTable
from engrams.ports.sessionstore import CALIBRATION as CALIBRATION
from engrams.ports.sessionstore import GARDEN_STATE as GARDEN_STATE
from engrams.ports.sessionstore import IMPORTS as IMPORTS
from engrams.ports.sessionstore import LEARNED as LEARNED
from engrams.ports.sessionstore import PREFERENCES as PREFERENCES
from engrams.ports.sessionstore import RESPONSES as RESPONSES
from engrams.ports.sessionstore import UNSAVED as UNSAVED
from engrams.ports.sessionstore import OwnerStateStore as OwnerStateStore
from engrams.ports.sessionstore import SessionStore as SessionStore
from engrams.ports.skillrecords import SkillRecordSource as SkillRecordSource
from engrams.ports.uploadstorage import StoredUpload as StoredUpload
from engrams.ports.uploadstorage import UploadPieceStorage as UploadPieceStorage
from engrams.ports.uploadstorage import UploadStorage as UploadStorage
from engrams.ports.uploadstorage import build_missing_upload as build_missing_upload


class Store(RecordStore, CandidateSearch, LinkStore, JobQueue, SessionStore, OwnerStateStore, ModelUsageLedger, RequestLedger, Protocol):
    """One backend of all ports."""
