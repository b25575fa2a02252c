"""Knowledge gaps: questions that memory had no answer to, closed when a session answers them."""

from __future__ import annotations

from engrams.core import STATEMENT_KINDS, Kind, Status
from engrams.ports import RecordChange, RecordQuery, Store
from engrams.session.ending.session_end import SessionEnd
from engrams.text.terms import terms

_MAX_GAPS = 100
_MAX_STATEMENTS = 1000


def close_gaps(end: SessionEnd, store: Store) -> None:
    """Archive the gaps of which a statement of this session has half of the words, or more."""
    gaps = store.find(
        RecordQuery(end.reach, (Kind.GAP,), (Status.CANDIDATE,), limit=_MAX_GAPS)
    ).records
    if not gaps:
        return
    learned = store.find(
        RecordQuery(end.reach, STATEMENT_KINDS, session=end.row.id, limit=_MAX_STATEMENTS)
    ).records
    learned_terms = [set(terms(record.text)) for record in learned]
    for gap in gaps:
        gap_terms = set(terms(gap.text))
        is_answered = gap_terms and any(
            2 * len(gap_terms & statement_terms) >= len(gap_terms)
            for statement_terms in learned_terms
        )
        if is_answered:
            end.changes.append(
                RecordChange(
                    owner=end.owner,
                    id=gap.id,
                    fields={"status": Status.ARCHIVED},
                    action="answered",
                    expect=gap.version,
                )
            )
