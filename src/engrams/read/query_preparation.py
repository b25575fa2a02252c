"""Preparation of a query for the sources: cues, vector, weighted words, statements that answer it.

``prepare_query`` is the way in; ``cut_query`` comes before it, where a query is very long.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace

from engrams.core import Kind
from engrams.extract.command_parser import parse_command
from engrams.frozen_data import dataclass
from engrams.ports import (
    CandidateSearchQuery,
    FactSlot,
    RecordQuery,
    RecordStore,
    ScopeReach,
)
from engrams.read.cues import QueryCues, asked_predicates, asks_of_oneself, parse_query
from engrams.read.dependencies import ReadDeps
from engrams.read.query_vectors import QueryVector
from engrams.read.request import ReadRequest
from engrams.text.identifiers import find_identifiers
from engrams.text.normalize import fold
from engrams.text.prose import strip_code
from engrams.text.system_texts import remove_system_texts
from engrams.text.terms import find_forms, terms

_STATEMENT_KINDS = (
    Kind.FACT,
    Kind.PREFERENCE,
    Kind.PROCEDURE,
    Kind.CORRECTION,
    Kind.NEGATIVE,
    Kind.RULE,
)
_MOST_SLOTS = 200
_LONGEST_REQUEST = 100
"""Characters of the longest query that is looked at as a question about what memory knows."""
_MOST_KEYWORDS = 2
"""Words of a search for words. A sentence has others that find what is meant."""
_ASKERS = ("user", "")
"""Subjects of what somebody says of themselves."""
_COMMON_WEIGHT = 0.2
"""Weight of the function words of other languages than English."""


@dataclass(frozen=True, slots=True)
class PreparedQuery:
    """Query ready for the sources."""

    cues: QueryCues
    query: CandidateSearchQuery
    answering: Mapping[str, float]
    """Current statements of the kind asked for, by id: 1, or 0.5 where the query names nobody; −1 of
    somebody else, where it asks of the asker alone."""
    asks_of_oneself: bool = False
    """The query asks for a kind of fact about the asker, and for nothing else."""
    commit: str = ""
    """Mark of the last commit that the survey saw."""
    embedding: QueryVector = field(default_factory=QueryVector)
    """Vector of the query, or why there is none."""

    @property
    def terms(self) -> list[str]:
        """Terms of the query, without their weights."""
        return [term for term, _ in self.query.terms]


def cut_query(request: ReadRequest, max_characters: int) -> tuple[ReadRequest, tuple[str, ...]]:
    """Cut a query to the user's own words, or to what it asks memory about, and a very long one to its head and tail.

    With a note for the trace, where it was too long.
    """
    if "<" in request.text or "[" in request.text:
        request = replace(request, text=remove_system_texts(request.text))
    # "What do you know about Emil?" asks for Emil: the other words are in no memory.
    if len(request.text) <= _LONGEST_REQUEST:
        command = parse_command(request.text, with_questions=True)
        if command is not None and command.verb == "list" and command.about:
            request = replace(request, text=command.about)
    if len(request.text) <= max_characters:
        return request, ()
    half = max_characters // 2
    note = f"a query of {len(request.text)} characters: its first and last {half} were used"
    return replace(request, text=f"{request.text[:half]}\n{request.text[-half:]}"), (note,)


def prepare_query(request: ReadRequest, deps: ReadDeps) -> PreparedQuery:
    """Parse the cues of a query, embed it and weigh its words."""
    survey = deps.search.survey(request.reach)
    cues = parse_query(request.text, request.now, survey.speakers)
    forms = find_forms(cues.lexical_text, request.text)
    embedding = deps.query_vectors.embed(strip_code(cues.dense_text))
    query = CandidateSearchQuery(
        reach=request.reach,
        now=request.now,
        terms=tuple(
            (term, _COMMON_WEIGHT if term in forms.common else 1.0)
            for term in dict.fromkeys(terms(cues.lexical_text))
        ),
        vector=embedding.vector,
        model=deps.embedder.card.id,
        width=deps.settings.candidates,
        as_of=request.as_of,
        history=request.history,
        kinds=request.kinds or _list_kinds(deps.settings.exclude_kinds),
        where=request.where,
        forms=forms,
        is_tolerant=request.tolerates_spelling and len(request.text.split()) <= _MOST_KEYWORDS,
        last_change=survey.last_change,
        identifiers=_list_identifiers(request.text, survey.speakers),
    )
    is_own = cues.role == "user" and not cues.other_names and asks_of_oneself(request.text)
    return PreparedQuery(
        cues=cues,
        query=query,
        answering=find_answering(request.text, cues, request.reach, deps.records, is_own=is_own),
        asks_of_oneself=is_own,
        commit=survey.commit,
        embedding=embedding,
    )


def _list_kinds(excluded: Sequence[str]) -> tuple[Kind, ...]:
    """List the kinds to find; empty: all."""
    return tuple(kind for kind in Kind if kind not in excluded) if excluded else ()


def _list_identifiers(query: str, speakers: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """Terms of each identifier in a query, but for speakers' names."""
    identifiers = find_identifiers(query)
    if not identifiers:
        return ()
    names = {word for speaker in speakers for word in fold(speaker).split()}
    return tuple([tuple(terms(word)) for word in identifiers if word not in names])


def find_answering(
    query: str, cues: QueryCues, reach: ScopeReach, records: RecordStore, *, is_own: bool
) -> Mapping[str, float]:
    """Find current statements with an asked predicate, by id, each with the fit of its subject.

    The fit is 1, or 0.5 where the query names nobody. ``is_own``: it asks of the asker alone, so
    that what is said of somebody else is no answer: −1.
    """
    predicates = asked_predicates(query)
    if not predicates:
        return {}
    people = tuple(name for name in map(fold, (*cues.asked_about, *cues.other_names)) if name)
    slots = records.slots(
        RecordQuery(reach, _STATEMENT_KINDS, predicates=predicates, about=people, limit=_MOST_SLOTS)
    )
    folded_subjects = {subject: fold(subject) for subject in {slot.subject for slot in slots}}
    fits = {}
    for slot in slots:
        subject = folded_subjects[slot.subject]
        if is_own:
            fits[slot.id] = 1.0 if subject in _ASKERS and slot.role == "user" else -1.0
        elif fit := _subject_fit(slot, subject, people, cues.role):
            fits[slot.id] = fit
    return fits


def _subject_fit(slot: FactSlot, subject: str, people: Sequence[str], role: str) -> float:
    """Fit of a statement's folded subject to the people asked about, or to the asker's role."""
    if people:
        return float(bool(subject) and any(name in subject or subject in name for name in people))
    if role == "user":
        return 1.0 if subject == "user" or slot.role == "user" else 0.0
    return 0.5
