"""Scheme of the terms of all records, and their rebuild."""

from __future__ import annotations

import apsw

from engrams.store.sql.named_queries import execute, fetch_all, fetch_one
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


def remake_index(connection: apsw.Connection) -> None:
    """Replace the full-text index by an empty one, inside the caller's transaction."""
    try:
        execute(connection, "drop_postings")
    except apsw.SQLError:
        # Without its format's number SQLite cannot even drop it, and guards the table that holds
        # it.
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        execute(connection, "mend_postings")
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        execute(connection, "drop_postings")
    for name in ("make_postings", "harden_postings"):
        execute(connection, name)


def rebuild(connection: apsw.Connection) -> int:
    """Split every text into terms again, inside the caller's transaction; how many."""
    numbers = TermNumberCache()
    remake_index(connection)
    execute(connection, "drop_index_marks")
    reached = count = 0
    while rows := fetch_all(connection, "some_texts", reached):
        for number, text, caption in rows:
            words = index_terms(f"{text} [{caption}]" if caption else text)
            execute(connection, "set_lexemes", numbers.encode(connection, words), number)
            if words:
                execute(connection, "add_postings", number, " ".join(words))
        reached = rows[-1][0]
        count = count + len(rows)
    mark_current(connection)
    return count
