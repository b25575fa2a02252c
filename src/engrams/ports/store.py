"""The port of a whole store."""

from __future__ import annotations

from typing import Protocol

from engrams.ports.attachments import AttachmentLedger
from engrams.ports.candidate_search import CandidateSearch
from engrams.ports.job_queue import JobQueue
from engrams.ports.link_store import LinkStore
from engrams.ports.record_store import RecordStore
from engrams.ports.session_store import OwnerStateStore, SessionStore
from engrams.ports.usage_ledgers import ModelUsageLedger, RequestLedger


class Store(
    RecordStore,
    CandidateSearch,
    LinkStore,
    JobQueue,
    SessionStore,
    OwnerStateStore,
    ModelUsageLedger,
    RequestLedger,
    AttachmentLedger,
    Protocol,
):
    """One backend of all ports."""
