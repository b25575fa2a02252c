"""Account of a session by rules, from its own sentences: needs no model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

from engrams.core import Evidence, Record
from engrams.extract.gate import gate_text
from engrams.session.ending.session_account import (
    MAX_POINT,
    MAX_THEMES,
    SessionAccount,
    shorten_points,
)
from engrams.text.measures import is_question, word_count
from engrams.text.normalize import fold
from engrams.text.small_talk import is_small_talk
from engrams.text.stopwords import STOP
from engrams.text.terms import terms, tokens
from engrams.text.vocabulary import word_set

Sentence: TypeAlias = tuple[Record, str]
"""Turn, and a sentence of its text."""

_MIN_WORDS = 3
"""Words of a sentence that a summary may hold."""
_MIN_THEME_TURNS = 2
"""Turns that a theme's word stands in, at least."""
_SENTENCE = re.compile(r"[^\n.!?。！？]+(?:[.!?。！？]++(?:(?<=[.!?])(?=\w)[^\n.!?。！？]++)?)*+")
_INTENT = re.compile(
    r"\b(?:i|we)(?:'ll| will|'m going to| am going to|'re going to| are going to| need to| have to|"
    r" must| should| plan to| want to)\b"
    r"|\b(?:remind me|not sure (?:yet|if|whether)|still (?:have|need) to|ich"
    r" (?:muss|werde|will)|tengo que|voy a|je (?:dois|vais))\b"
    r"|(?:打算|需要|得去|つもり)"
)
_GLAD = word_set("""
    great happy glad good love loved wonderful excited relieved better thanks thank amazing fun proud calm hopeful nice perfect
    froh glucklich super feliz contento genial content heureux ravi 开心 高兴 嬉しい
    """)
_LOW = word_set("""
    sad angry upset worried anxious tired afraid scared stressed lonely terrible awful bad hate worse hurt frustrated depressed
    overwhelmed exhausted traurig wutend angst mude triste enojado cansado preocupado inquiet fatigue 难过 生气 担心 悲しい
    """)


def find_substantive(turns: Sequence[Record]) -> list[Record]:
    """Select the user's turns with content.

    Small talk, noise and requests about memory itself are left out.
    """
    return [
        turn
        for turn in turns
        if turn.role in ("user", "")
        and turn.text
        and not is_small_talk(turn.text)
        and gate_text(turn.text) is None
    ]


def tell_by_rules(turns: Sequence[Record], limit: int) -> SessionAccount:
    """Tell a session by rules, from its own sentences.

    Sentences with the most recurring words are chosen, and stay in their order. ``limit``:
    characters of the summary.
    """
    substantive = find_substantive(turns)
    themes = _find_themes(substantive)
    sentences = _split_sentences(substantive)
    chosen = _choose_sentences(sentences, themes, limit)
    if not chosen and substantive:
        first = substantive[0]
        # Plans are looked for in it too: no other sentence is short enough to be quoted.
        sentences = [(first, first.text[: limit - 1].rstrip() + "…")]
        chosen = sentences
    unanswered, answered = _split_questions(turns)
    plans = [(turn, text) for turn, text in sentences if _INTENT.search(fold(text))]
    questions = [(turn, turn.text[:MAX_POINT]) for turn in (*unanswered, *answered)]
    evidence = dict.fromkeys(
        Evidence(text.rstrip("…"), turn.id, turn.speaker)
        for turn, text in (*chosen, *questions, *plans)
    )
    return SessionAccount(
        themes=themes,
        summary=" ".join(text for _, text in chosen)[:limit],
        opened=_detect_mood(substantive[:1]),
        closed=_detect_mood(substantive[-1:]),
        loops=shorten_points([*(turn.text for turn in unanswered), *(text for _, text in plans)]),
        resolved=shorten_points([turn.text for turn in answered]),
        evidence=tuple(evidence),
    )


def _find_themes(turns: Sequence[Record]) -> tuple[str, ...]:
    """Find words of two turns or more, most frequent first."""
    turn_counts: Counter[str] = Counter()
    spellings: dict[str, str] = {}
    for turn in turns:
        for word in dict.fromkeys(tokens(turn.text)):
            stem = next(iter(terms(word)), "")
            if stem and word not in STOP and len(word) > 1 and not word.isdigit():
                spellings.setdefault(stem, word)
        turn_counts.update({stem for stem in terms(turn.text) if stem in spellings})
    recurring = [stem for stem, count in turn_counts.items() if count >= _MIN_THEME_TURNS]
    first_mention = {stem: index for index, stem in enumerate(spellings)}
    recurring.sort(key=lambda stem: (-turn_counts[stem], first_mention[stem]))
    return tuple(spellings[stem] for stem in recurring[:MAX_THEMES])


def _split_sentences(turns: Sequence[Record]) -> list[Sentence]:
    """Split turns into statements of three words or more."""
    sentences = []
    for turn in turns:
        for match in _SENTENCE.findall(turn.text):
            text = " ".join(match.split())
            if word_count(text) >= _MIN_WORDS and not is_question(text):
                sentences.append((turn, text))
    return sentences


def _choose_sentences(
    sentences: Sequence[Sentence], themes: Sequence[str], limit: int
) -> list[Sentence]:
    """Choose the sentences with the most words of themes that fit ``limit`` characters."""
    theme_stems = {stem for theme in themes for stem in terms(theme)}
    ranked = sorted(
        range(len(sentences)),
        key=lambda index: (-len(theme_stems & set(terms(sentences[index][1]))), index),
    )
    chosen: list[int] = []
    room = limit
    for index in ranked:
        length = len(sentences[index][1]) + 1
        if length <= room:
            chosen.append(index)
            room -= length
    return [sentences[index] for index in sorted(chosen)]


def _split_questions(turns: Sequence[Record]) -> tuple[list[Record], list[Record]]:
    """Split a person's questions into those without and with an answer right after."""
    unanswered: list[Record] = []
    answered: list[Record] = []
    for index, turn in enumerate(turns):
        if turn.role not in ("user", "") or not is_question(turn.text):
            continue
        replies = turns[index + 1 : index + 2]
        if any(reply.role == "assistant" for reply in replies):
            answered.append(turn)
        else:
            unanswered.append(turn)
    return unanswered, answered


def _detect_mood(turns: Sequence[Record]) -> str:
    words = {word for turn in turns for word in tokens(turn.text)}
    glad = len(words & _GLAD)
    low = len(words & _LOW)
    if glad == low:
        return "neutral"
    return "glad" if glad > low else "low"
