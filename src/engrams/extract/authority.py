"""Authority of a statement: whether it may bind the assistant in the user's name.

Rules, prohibitions and procedures need the user's own words. What another speaker, a tool, a page
or a document says is kept as a message, and tells of its speaker at most.
"""

from __future__ import annotations

from engrams.core import LAYER_OF, Layer, Record
from engrams.extract.candidate import USER, CandidateStatement, canonical_subject, owner_name
from engrams.extract.policy import StoragePolicyDecision

_AGENT = StoragePolicyDecision(
    "drop", "guard: an instruction that an assistant noted is not the user's"
)
_OTHER_SPEAKER = StoragePolicyDecision(
    "drop", "guard: an instruction of somebody else binds nobody but them"
)

_PEOPLE = ("user", "")
_NAMELESS_OWNERS = frozenset({"default", "local", "me", "owner", "user", "you"})
"""Labels of owners that name nobody, so that a named speaker may well be the owner."""


def check_authority(candidate: CandidateStatement, record: Record) -> StoragePolicyDecision | None:
    """Return the drop decision of an instruction that is not the user's own, or None."""
    if LAYER_OF[candidate.kind] is not Layer.PROCEDURAL:
        return None
    if record.role not in _PEOPLE:
        return _AGENT
    speaker = record.speaker.strip()
    if owner_name(record.scope).casefold() in _NAMELESS_OWNERS:
        return None
    if speaker and canonical_subject(speaker, record.scope) != USER:
        return _OTHER_SPEAKER
    return None
