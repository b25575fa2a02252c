"""Gate: which messages nothing is learned from, and why; decided without a model.

Enter at ``gate_record`` for a stored record, at ``gate_text`` for a bare text. The journal keeps
every message either way.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from engrams.core import FOREIGN, UNLEARNED, Kind, Record, StageDecision, Status
from engrams.extract.echo_removal import remove_echoes
from engrams.extract.machine_reports import is_noise
from engrams.extract.memory_requests import is_control
from engrams.extract.own_words import split_own_words
from engrams.extract.policy import is_of_crisis
from engrams.frozen_data import replace
from engrams.settings import WriteSettings
from engrams.text.late_patterns import late_pattern
from engrams.text.measures import word_count
from engrams.text.small_talk import is_small_talk, is_symbol
from engrams.text.stopwords import STOP, are_function_words
from engrams.text.system_texts import remove_system_texts
from engrams.text.terms import tokens

BRIEF = ("small_talk", "stop_words", "short")
"""Reasons of the gate that do not count for an answer to a question, where a model reads both."""
_FOREIGN = "not the sender's words: "

_MOST_FUNCTION_WORDS = 8
"""Words up to which a text is looked at for a language in which none has content."""

# "I'm vegan" has one word with content; with its subject it is a statement, which "vegan" alone is
# not.
_FIRST_PERSON = late_pattern(
    r"\b(?:i|me|my|we|us|our|ich|wir|mein\w*|yo|soy|tengo|vivo|trabajo|odio|como|bebo|mi|mis|je|j'|mon|ma|mes|nous)\b|[我俺咱]",
    re.IGNORECASE,
)


def gate_record(
    record: Record,
    settings: WriteSettings,
    reply_ids: Collection[str],
    decisions: list[StageDecision],
) -> Record | None:
    """Return the record with its sender's own words alone; None: nothing is learned from it.

    Echoes of memory and what the sender pasted, forwarded or quoted are left out. Why nothing is
    learned goes into ``decisions``. ``reply_ids``: ids of records that answer a
    question and are understood by it, however brief they are.
    """
    # A turn is learned from even if it left the working tier meanwhile.
    is_archived_turn = record.kind is Kind.TURN and record.status is Status.ARCHIVED
    is_message = record.kind in (Kind.TURN, Kind.EXCHANGE, Kind.NOTE)
    if not is_message or not (record.status is Status.ACTIVE or is_archived_turn):
        decisions.append(_skip(record, f"{record.status} {record.kind}"))
        return None
    if record.meta.get(UNLEARNED):
        decisions.append(_skip(record, "stored as it is"))
        return None
    if record.meta.get(FOREIGN):
        return _keep_own(record, record.text, decisions)
    if record.kind is Kind.NOTE:
        return _keep_own(record, record.text, decisions)
    if record.role not in settings.roles:
        decisions.append(_skip(record, f"role {record.role or 'unknown'}"))
        return None
    text = remove_system_texts(record.text) if "<" in record.text else record.text
    text = remove_echoes(text, _read_echoes(record))
    if not text:
        decisions.append(_skip(record, "echo", record.text[:80]))
        return None
    refusal = gate_text(text, min_words=settings.min_words) if settings.gate else None
    is_brief_reply = refusal is not None and refusal.reason in BRIEF and record.id in reply_ids
    if refusal is not None and not is_brief_reply:
        decisions.append(replace(refusal, record=record.id))
        return None
    return _keep_own(record, text, decisions)


def gate_text(text: str, *, min_words: int = 2) -> StageDecision | None:
    """Return why nothing is learned from ``text``, or None.

    The decision's stage is ``gate``. Reasons: ``control`` (a request about memory itself),
    ``crisis`` (the writer wants to die), ``small_talk``, ``noise`` (errors and traces),
    ``stop_words`` (no word with content, unless ``min_words`` is 0), ``short`` (fewer than
    ``min_words`` words with content).
    """
    reason = _find_refusal(text, min_words)
    return StageDecision("gate", "skip", reason, text[:80]) if reason else None


def _find_refusal(text: str, min_words: int) -> str:
    if is_control(text):
        return "control"
    if is_of_crisis(text):
        return "crisis"
    if is_small_talk(text):
        return "small_talk"
    if is_noise(text):
        return "noise"
    head = text[:2000]
    words = [word for word in tokens(head) if not is_symbol(word)]
    content = [word for word in words if word.replace("'", "") not in STOP]
    if len(words) <= _MOST_FUNCTION_WORDS and are_function_words(words):
        content = []
    has_first_person = bool(_FIRST_PERSON.search(head))
    is_short = word_count(" ".join(content)) + has_first_person < min_words
    says_enough = not is_short if content else min_words == 0 and bool(tokens(head))
    if says_enough or _tells_how_to_answer(head):
        return ""
    if not content:
        return "stop_words"
    return "" if _tells_loss(head) else "short"


def _tells_how_to_answer(text: str) -> bool:
    """True for "duz mich", which is brief and a rule for every answer."""
    # Loaded here: most messages are long enough.
    from engrams.extract.rules.answer_rules import find_answer_rule
    from engrams.extract.rules.sentence_segmenter import split_sentences

    return any(find_answer_rule(sentence, text) for sentence in split_sentences(text))


def _keep_own(record: Record, text: str, decisions: list[StageDecision]) -> Record | None:
    """Return the record with its sender's own words alone; None: all of it is foreign."""
    message = split_own_words(record, text)
    decisions.extend(
        StageDecision(
            stage="gate",
            verdict="cut" if message.own_words else "skip",
            reason=f"{_FOREIGN}{foreign.reason}",
            text=foreign.text[:80],
            record=record.id,
        )
        for foreign in message.foreign
    )
    if not message.own_words:
        return None
    if message.own_words == record.text:
        return record
    return replace(record, text=message.own_words)


def _tells_loss(text: str) -> bool:
    """True for a loss or an illness, however brief: "It is cancer."."""
    # Rules are loaded only here: most texts need none at the gate.
    from engrams.extract.rules.grave_news import tells_grave_news

    return tells_grave_news(text)


def _read_echoes(record: Record) -> Collection[str]:
    """Return the fingerprints of memory that a message repeats, as marked when it was stored."""
    marks = record.meta.get("echo")
    if not isinstance(marks, list | tuple):
        return ()
    return {mark for mark in marks if isinstance(mark, str)}


def _skip(record: Record, reason: str, text: str = "") -> StageDecision:
    return StageDecision("gate", "skip", reason, text, record=record.id)
