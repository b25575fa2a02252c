"""Statements that may stand in a profile: rules, and lasting descriptions of user and project."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from engrams.core import Kind, Record, Scope
from engrams.text.vocabulary import read_vocabulary, word_set

_USER = "user"
_DESCRIBING_KINDS = frozenset({Kind.FACT, Kind.PREFERENCE, Kind.CORRECTION})
_CONVERSATION_LABELS = frozenset({"conversation", "session", "thread", "chat"})
"""Labels of scopes that belong to their owner as a whole, unlike projects."""
_PASSING_CATEGORIES = frozenset({"context", "event", ""})
_STATE_CATEGORIES = frozenset({"home", "work", "education", "family", "identity"})
"""Categories in which what changed is what is so now: "moved to Berlin"."""
_BEARING_CATEGORIES = frozenset({"health", "family"})
"""Categories whose facts about the user bear on most requests, whatever their predicate is."""
_BEARING_PREDICATES = word_set(read_vocabulary(__file__, "bearing_predicates"))
"""Predicates of facts that bear on most requests. A search finds the others when they help."""
_SAFETY_PREDICATES = frozenset({"allergic_to", "intolerant_of", "has_allergy", "diet"})
"""Predicates that count whoever they are said of: a dinner for four depends on the child's allergy."""
_UNCERTAIN_META = ("hearsay", "modality", "temporal")


def filter_profile(
    records: Iterable[Record], profile: str, reader: Scope, *, is_beside_question: bool
) -> list[Record]:
    """Filter by the setting ``read.profile``: ``core``, ``user``, or anything.

    ``is_beside_question``: a search follows the profile, and finds what only some requests need.
    """
    if profile == "core":
        return [record for record in records if fits_core(record, reader)]
    if profile == "user":
        lasting = [record for record in records if fits_profile(record, reader)]
        return list(filter(_bears_on_most, lasting)) if is_beside_question else lasting
    return list(records)


def fits_profile(record: Record, reader: Scope) -> bool:
    """Test for a rule, a correction, or a lasting description of user or project.

    A rule of a project stands only where ``reader`` is in that project.
    Of the user: about ``user``, the owner's name or ``user's …``, in the owner's scope, a
    conversation of theirs or a project that ``reader`` is in; or stated as a fact, as it is. Of
    that project: what is said of the project itself, what has no subject, or is knowledge about a
    thing. Allergies and diets stand there
    whoever has them. Lasting: a lasting category, no end, no hearsay or supposition, no event but a
    change of state.
    """
    if record.kind is Kind.NOTE:
        return _is_in_projects_of(record, reader)
    if record.kind is Kind.CORRECTION:
        # It stands in the place of what it ended: without it nothing would be known of the matter.
        return _is_in_projects_of(record, reader) and not _is_uncertain(record)
    if record.kind not in _DESCRIBING_KINDS:
        return _is_in_projects_of(record, reader)
    if not (record.subject or record.category):
        return True
    return (
        (
            _is_about_user(record)
            or _is_about_project(record)
            or record.predicate in _SAFETY_PREDICATES
        )
        and _is_in_projects_of(record, reader)
        and _is_lasting(record)
    )


def fits_core(record: Record, reader: Scope) -> bool:
    """Test for a statement of no other project, no hearsay, and nothing passing about the user.

    A statement that somebody added as such stands whatever its category is.
    """
    is_of_user = not record.subject or _is_about_user(record)
    is_passing = is_of_user and record.category == "context" and bool(record.evidence)
    return _is_in_projects_of(record, reader) and not is_passing and not _is_uncertain(record)


def has_ended(record: Record, now: datetime) -> bool:
    """Test for a statement whose time is over."""
    return record.valid_to is not None and record.valid_to <= now


def _is_about_user(record: Record) -> bool:
    subject = record.subject.casefold()
    owner_name = record.scope.owner.labels[-1].casefold()
    return subject in (_USER, owner_name) or subject.startswith(f"{_USER}'s ")


def _bears_on_most(record: Record) -> bool:
    """Test whether most answers depend on a record of the profile.

    Rules, corrections, statements that somebody added as such, facts of a project, and of the user
    name, home, family, work, health, language and manner. A liking or a possession is found by the
    search when it helps.
    """
    is_description = record.kind in (Kind.FACT, Kind.PREFERENCE)
    is_stated = not record.evidence
    is_of_project = not _is_in_projects_of(record, record.scope.owner)
    if not is_description or is_stated or is_of_project:
        return True
    if record.predicate:
        return record.predicate in _BEARING_PREDICATES or record.category in _BEARING_CATEGORIES
    return record.category in _BEARING_CATEGORIES | _STATE_CATEGORIES


def _is_about_project(record: Record) -> bool:
    if _is_in_projects_of(record, record.scope.owner):
        return False
    project = record.scope.find("project").casefold()
    subject = record.subject.casefold()
    is_its_own = bool(project) and (subject == project or subject.startswith(f"{project}'s "))
    return is_its_own or not record.subject or record.category == "knowledge"


def _is_lasting(record: Record) -> bool:
    if record.valid_to is not None and not record.superseded_by:
        return False
    if record.category in _PASSING_CATEGORIES:
        return False
    if record.meta.get("event") and record.category not in _STATE_CATEGORIES:
        return False
    return not _is_uncertain(record)


def _is_uncertain(record: Record) -> bool:
    """Return True for hearsay, a supposition, or the end of something."""
    if record.meta.get("effect") == "ends":
        return True
    return any(record.meta.get(key) for key in _UNCERTAIN_META)


def _is_in_projects_of(record: Record, reader: Scope) -> bool:
    """Return True if the reader is in each project (agent, app …) that the record belongs to.

    Conversations do not count. With the owner as the reader: True if it belongs to none.
    """
    reader_labels = reader.labels
    reader_pairs = set(zip(reader_labels[2::2], reader_labels[3::2], strict=True))
    labels = record.scope.labels
    return all(
        pair[0] in _CONVERSATION_LABELS or pair in reader_pairs
        for pair in zip(labels[2::2], labels[3::2], strict=True)
    )
