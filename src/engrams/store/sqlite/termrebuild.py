"""Scheme of the terms of all records, and their rebuild."""

from __future__ import annotations

import apsw

from engrams.store.sql.namedqueries import execute, fetch_all, fetch_one
from engrams.store.sqlite.dialect import TermNumberCache
from engrams.text.terms import TERM_SCHEME, index_terms

_SCHEME = "terms"
"""Name of the counter that holds the version of the terms."""


def is_current(connection: apsw.Connection) -> bool:
    """True if the terms of all records are of this version's scheme."""
    return int(fetch_one(connection, "spent", _SCHEME)[0]) == TERM_SCHEME


def mark_current(connection: apsw.Connection) -> None:
    """Note the scheme of the terms."""
    execute(connection, "set_counter", _SCHEME, TERM_SCHEME)


def rebuild(connection: apsw.Connection) -> int:
    """Split every text into terms again, inside the caller's transaction; how many."""
    numbers = TermNumberCache()
    for name in ("drop_postings", "make_postings", "harden_postings", "drop_index_marks"):
        execute(connection, name)
    reached = count = 0
    while rows := fetch_all(connection, "some_texts", reached):
        for number, text, caption in rows:
            words = index_terms(f"{text} [{caption}]" if caption else text)
            execute(connection, "set_lexemes", numbers.encode(connection, words), number)
            if words:
                execute(connection, "add_postings", number, " ".join(words))
        reached, count = rows[-1][0], count + len(rows)
    mark_current(connection)
    return count
