"""Lexemes: the numbers of a record's index terms, as its row stores them.

A row holds one unsigned number of 32 bits for each term of its text, in the order of the text; a
dialect says which number a term has. The index of an owner is built from these, so a record whose
lexemes are not those of its text is not found by its words.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable

from engrams.store.sql.named_queries import SqlConnection, execute, fetch_all, stream_rows
from engrams.text.terms import index_terms


def find_unused_numbers(connection: SqlConnection, numbers: Iterable[int]) -> list[int]:
    """List those of some terms' numbers that no record holds.

    It reads the lexemes of all records, of one owner where the connection shows no others, until
    every number was met: a purge is rare, and a count of each term's records would have to be kept
    by every write.
    """
    unmet = dict.fromkeys(numbers)
    for _, lexemes in stream_rows(connection, "all_lexemes"):
        for number in unmet.keys() & set(array("I", bytes(lexemes))):
            del unmet[number]
        if not unmet:
            break
    return list(unmet)


def split_again(
    connection: SqlConnection, encode: Callable[[SqlConnection, list[str]], bytes]
) -> int:
    """Split every text into terms and store their numbers; the number of texts.

    All in the caller's transaction. ``encode``: gives terms their numbers, as a dialect's does.
    """
    last_number = 0
    count = 0
    while rows := fetch_all(connection, "some_texts", last_number):
        for number, text, caption in rows:
            terms = index_terms(join_caption(text, caption))
            execute(connection, "set_lexemes", encode(connection, terms), number)
        last_number = rows[-1][0]
        count += len(rows)
    return count


def join_caption(text: str, caption: str) -> str:
    """Return the text that is searched and hashed, as ``Record.search_text`` gives it."""
    return f"{text} [{caption}]" if caption else text
