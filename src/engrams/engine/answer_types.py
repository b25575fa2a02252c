"""Types of what an engine and its parts return, for annotations in surfaces.

Records, hits, contexts and receipts are in ``engrams.types``; these belong to parts that a surface
reaches only through the engine.
"""

from engrams.forget.purge_candidates import PurgeCandidate
from engrams.forget.source_effects import SourceChangeReport
from engrams.session.commands import MemoryCommandResult
from engrams.transfer.documents.document_kinds import find_media_type
from engrams.transfer.documents.document_notes import MOST_NOTE
from engrams.transfer.documents.stored_documents import (
    DescribedDocument,
    GivenDocument,
    StoredDocument,
)
from engrams.upkeep.garden.conflicts import StatementConflict
from engrams.upkeep.garden.state import GardenCycleReport
from engrams.upkeep.garden.steps import PlannedGardenStep

__all__ = [
    "MOST_NOTE",
    "DescribedDocument",
    "GardenCycleReport",
    "GivenDocument",
    "MemoryCommandResult",
    "PlannedGardenStep",
    "PurgeCandidate",
    "SourceChangeReport",
    "StatementConflict",
    "StoredDocument",
    "find_media_type",
]
