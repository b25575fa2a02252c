"""Return to what was said before: "we're back at Hetzner" ends the move that came in between.

``find_return`` tells which earlier messages are over by it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from engrams.core import Record
from engrams.frozen_data import dataclass
from engrams.text.clause_split import split_clauses
from engrams.text.late_patterns import late_pattern
from engrams.text.terms import terms
from engrams.write.change_detection.cue_words import NAMES, count_cues
from engrams.write.change_detection.features import MessageClause, read_clause
from engrams.write.change_detection.replacement_evidence import (
    list_general_words,
    list_time_words,
)

_BACK = NAMES.index("back")
_DOUBTS = tuple(
    map(NAMES.index, ("if", "plan", "past", "no", "ask", "fiction", "joke", "temporary"))
)
_CHANGES = tuple(
    map(
        NAMES.index,
        ("now", "no_more", "end", "begin", "switch", "new", "from_now", "instead", "back"),
    )
)
_SHORT = 100
"""Characters of the longest messages that are about the same if they share a word; long ones share
some by chance.
"""
_HIRAGANA = re.compile(r"[\u3041-\u309f]+")
_WORD = r"[^\s,;:]+"
_RETURN = late_pattern(
    r"\b(?:back|zurück|vuelta|volv\w+|vuelv\w+|retour\w*|revenue?s?|returned_words)\b"
    rf"(?:\s+{_WORD}){{0,4}}"
    rf"|(?:{_WORD}\s+){{0,2}}\b(?:again|wieder|de nuevo|otra vez|de nouveau|à nouveau)\b(?:\s+{_WORD}){{0,3}}",
    re.IGNORECASE,
)
"""Words of a return in scripts with spaces, and what is so again: a few words before or after them."""


@dataclass(frozen=True, slots=True)
class ValueReturn:
    """Return of a speaker to a former value."""

    ended: tuple[Record, ...]
    """Messages that are over by it."""
    regained_ids: frozenset[str]
    """Ids of earlier messages whose value holds again."""


def may_return(text: str) -> bool:
    """Return True for a message with a clause that may tell a return to what was before."""
    return any(_list_returns(text))


def find_return(
    news: Record, earlier: Sequence[Record], ended_by: AbstractSet[tuple[str, str]]
) -> ValueReturn:
    """Find the earlier messages that are over because their speaker returned to what was before them.

    ``ended_by``: ids of messages that end another, or may, each with the id of that other. A message
    is over if it had ended, or briefly told of the same as, an earlier one whose value the news names
    anew. What says the same as the news has its value.
    """
    returned_words = [*_list_returns(news.text)]
    if not returned_words:
        return ValueReturn((), frozenset())
    news_words = _list_words(read_clause(news.text))
    topic = news_words - list_time_words()
    is_short = len(news.text) <= _SHORT
    in_order = sorted(earlier, key=lambda record: record.story_key)
    words = {record.id: _list_words(read_clause(record.text)) for record in in_order}
    ended: dict[str, Record] = {}
    regained_ids = {
        former.id for former in in_order if words[former.id] and words[former.id] <= news_words
    }
    for position, between in enumerate(in_order):
        tells_change = _tells_change(between.text)
        own_words = words[between.id]
        for former in in_order[:position]:
            is_ended = (between.id, former.id) in ended_by
            is_about_same = (
                tells_change
                and is_short
                and len(between.text) <= _SHORT
                and bool(topic & own_words)
            )
            if (is_ended or is_about_same) and _names_former(
                returned_words, words[former.id], own_words, is_ended=is_ended
            ):
                ended[between.id] = between
                regained_ids.add(former.id)
    return ValueReturn(tuple(ended.values()), frozenset(regained_ids - ended.keys()))


def _names_former(
    returned_words: Sequence[AbstractSet[str]],
    former_words: AbstractSet[str],
    own_words: AbstractSet[str],
    *,
    is_ended: bool,
) -> bool:
    """True if what is so again is a value of a former message, and not of the one in between."""
    for clause_words in returned_words:
        if clause_words & (former_words - own_words):
            return True
        # "I left Acme, I work at Globex" names both, and only one of them is returned to.
        if (
            is_ended
            and clause_words & former_words
            and not clause_words & (own_words - former_words)
        ):
            return True
    return False


def _list_returns(text: str) -> Iterator[frozenset[str]]:
    """List the words for what is so again, clause by clause; no question, plan or denial has any."""
    if not count_cues(text)[_BACK]:
        return  # most messages: their clauses need not be read
    for clause_text in split_clauses(text):
        clause = read_clause(clause_text)
        if not clause.cues[_BACK] or any(clause.cues[cue] for cue in _DOUBTS):
            continue
        spans = [match.span() for match in _RETURN.finditer(clause_text)]
        near_text = " ".join(clause_text[slice(*span)] for span in spans) or clause_text
        if words := frozenset(terms(near_text)) - list_general_words():
            yield words


def _tells_change(text: str) -> bool:
    """True for a message that tells a change, which may be a return itself."""
    cues = read_clause(text).cues
    return any(cues[cue] for cue in _CHANGES)


def _list_words(clause: MessageClause) -> frozenset[str]:
    """List the words that tell what a clause is about, and its values.

    Hiragana alone ends verbs: 変えました and 戻ってきました have nothing in common.
    """
    words = clause.words - list_general_words()
    return frozenset(word for word in words if not _HIRAGANA.fullmatch(word))
