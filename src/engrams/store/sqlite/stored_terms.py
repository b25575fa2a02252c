"""Terms of all records: their scheme, a check against the texts, and a repair.

A release may split texts into other terms than the one that wrote a file. On opening, a file whose
terms are of another scheme is split again; the doctor compares stored terms with the texts.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import apsw

from engrams.store.sql.lexemes import join_caption, split_again
from engrams.store.sql.named_queries import execute, fetch_all, fetch_one, stream_rows
from engrams.store.sqlite.dialect import TermNumberCache
from engrams.text.terms import TERM_SCHEME, index_terms

_SCHEME = "terms"
"""Name of the counter that holds the version of the terms."""
_MAX_CHECKED = 20_000
"""Records whose texts a check splits again, which takes 20 µs each; of more, every nth."""


def is_current(connection: apsw.Connection) -> bool:
    """True if the terms of all records are of this version's scheme."""
    return int(fetch_one(connection, "spent", _SCHEME)[0]) == TERM_SCHEME


def mark_current(connection: apsw.Connection) -> None:
    """Note the scheme of the terms."""
    execute(connection, "set_counter", _SCHEME, TERM_SCHEME)


def rebuild(connection: apsw.Connection) -> int:
    """Split every text into terms again, inside the caller's transaction; how many."""
    execute(connection, "drop_index_marks")
    count = split_again(connection, TermNumberCache().encode)
    mark_current(connection)
    return count


def find_wrong_terms(connection: apsw.Connection, max_checked: int = _MAX_CHECKED) -> list[str]:
    """Find records whose stored terms are not those of their text; their ids, in order.

    Of more than ``max_checked`` records it looks at every nth.
    """
    total = int(fetch_one(connection, "tallied")[0])
    stride = max(1, -(-total // max_checked))
    return sorted(record_id for _, record_id, _ in _compare_terms(connection, stride))


def mend_terms(connection: apsw.Connection) -> str:
    """Store the right terms of records that have others, inside the caller's transaction.

    Returns a note, empty where all were right. Indexes in memory load these records again.
    """
    wrong = list(_compare_terms(connection, 1))
    if not wrong:
        return ""
    numbers = TermNumberCache()
    last_change = int(fetch_one(connection, "lock_owner")[0])
    for change, (number, _, terms) in enumerate(wrong, last_change + 1):
        execute(connection, "set_lexemes", numbers.encode(connection, terms), number)
        execute(connection, "touch_record", change, number)
    execute(connection, "set_changes", last_change + len(wrong))
    execute(connection, "drop_index_marks")
    return f"The words of {len(wrong):,} memories were indexed again."


def _compare_terms(
    connection: apsw.Connection, stride: int
) -> Iterator[tuple[int, str, list[str]]]:
    """Yield number, id and right terms of every ``stride``-th record that has others."""
    numbers = dict(fetch_all(connection, "all_terms"))
    for number, record_id, lexemes, text, caption in stream_rows(
        connection, "texts_and_lexemes", stride
    ):
        terms = index_terms(join_caption(text, caption))
        if array("I", (numbers.get(term, 0) for term in terms)).tobytes() != lexemes:
            yield number, record_id, terms
