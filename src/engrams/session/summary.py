"""Session accounts (themes, summary, mood, loops) by a model or rules."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from engrams.core import Evidence, Json, Kind, ModelCost, Record
from engrams.errors import BudgetError, ModelError
from engrams.extract.gate import gate_text, is_small_talk
from engrams.frozen_data import dataclass
from engrams.ports import ChatMessage, ChatModel, ChatRequest
from engrams.prompts import load, quote
from engrams.text.measures import is_question, word_count
from engrams.text.normalize import fold
from engrams.text.stopwords import STOP
from engrams.text.terms import terms, tokens
from engrams.text.word_list import word_set

_THEMES = 3
_LOOPS = 5
_LOOP = 200
_SHOWN = 80
_LONG = 1000
_CHARACTERS = 24_000
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


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "themes": {"type": "array", "items": {"type": "string"}},
        "summary": {"type": "string"},
        "mood": {
            "type": "object",
            "properties": {"opened": {"type": "string"}, "closed": {"type": "string"}},
        },
        "open_loops": {"type": "array", "items": {"type": "string"}},
        "resolved": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["summary"],
}


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """Summary of a session: themes, mood, open points, and evidence.

    ``extractor`` and ``prompt``: the model (or ``rules``) and the prompt that made it.
    """

    themes: tuple[str, ...]
    summary: str
    opened: str
    closed: str
    loops: tuple[str, ...]
    resolved: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    extractor: str = "rules"
    prompt: str = ""
    cost: ModelCost = ModelCost()

    @property
    def statements(self) -> tuple[str, ...]:
        """Texts that can support a held statement: themes, summary, loops."""
        return (*self.themes, self.summary, *self.loops, *self.resolved)

    def to_metadata(self, turns: Sequence[Record], crisis: str) -> dict[str, Json]:
        """Convert to record metadata. ``crisis`` comes from the caller alone."""
        minutes = (turns[-1].recorded_at - turns[0].recorded_at).total_seconds() / 60
        return {
            "themes": list(self.themes),
            "mood": {"opened": self.opened, "closed": self.closed},
            "open_loops": list(self.loops),
            "resolved": list(self.resolved),
            "minutes": round(max(0.0, minutes), 1),
            "turns": len(turns),
            "crisis": crisis,
        }


class _MoodAnswer(BaseModel):
    opened: str = ""
    closed: str = ""


class _SessionSummaryAnswer(BaseModel):
    """Summary of a session as a model returns it."""

    themes: list[str] = Field(default_factory=list)
    summary: str = ""
    mood: _MoodAnswer = _MoodAnswer()
    open_loops: list[str] = Field(default_factory=list)
    resolved: list[str] = Field(default_factory=list)


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


def build_by_rules(turns: Sequence[Record], limit: int) -> SessionSummary:
    """Summarise a session by rules, from its own sentences.

    Sentences with the most recurring words are chosen, and stay in their order. ``limit``:
    characters of the summary.
    """
    mine = find_substantive(turns)
    themes = _find_themes(mine)
    stems = {term for theme in themes for term in terms(theme)}
    sentences = [
        (turn, " ".join(found.split())) for turn in mine for found in _SENTENCE.findall(turn.text)
    ]
    sentences = [
        (turn, text) for turn, text in sentences if word_count(text) >= 3 and not is_question(text)
    ]
    ranked = sorted(
        range(len(sentences)), key=lambda at: (-len(stems & set(terms(sentences[at][1]))), at)
    )
    chosen: list[int] = []
    room = limit
    for at in ranked:
        if len(sentences[at][1]) + 1 <= room:
            chosen.append(at)
            room -= len(sentences[at][1]) + 1
    if not chosen and mine:
        sentences = [(mine[0], mine[0].text[: limit - 1].rstrip() + "…")]
        chosen = [0]
    picked = [sentences[at] for at in sorted(chosen)]
    open_, settled = _split_questions(turns)
    plans = [(turn, text) for turn, text in sentences if _INTENT.search(fold(text))]
    quoted = [*picked, *((turn, turn.text[:_LOOP]) for turn in (*open_, *settled)), *plans]
    return SessionSummary(
        themes=themes,
        summary=" ".join(text for _, text in picked)[:limit],
        opened=_detect_mood(mine[:1]),
        closed=_detect_mood(mine[-1:]),
        loops=_shorten_list([*(turn.text for turn in open_), *(text for _, text in plans)]),
        resolved=_shorten_list([turn.text for turn in settled]),
        evidence=tuple(
            dict.fromkeys(
                Evidence(text.rstrip("…"), turn.id, turn.speaker) for turn, text in quoted
            )
        ),
    )


def build_by_model(turns: Sequence[Record], chat: ChatModel, limit: int) -> SessionSummary | None:
    """Summarise a session by a model; None where it finds nothing.

    It sees at most 80 turns and 24,000 characters. ModelError, BudgetError: it failed, or its
    answer cannot be used.
    """
    prompt = load("arc")
    lines: list[str] = []
    shown: list[Record] = []
    size = 0
    for turn in reversed(turns):
        line = f"{quote(turn.speaker or turn.role or 'someone')}: {quote(turn.text[:_LONG])}"
        size += len(line)
        if len(lines) >= _SHOWN or size > _CHARACTERS:
            break
        lines.append(line)
        shown.append(turn)
    text = prompt.render(turns="\n".join(reversed(lines)), limit=str(limit))
    answer = chat.ask(ChatRequest((ChatMessage("user", text),), "arc", SCHEMA))
    try:
        found = _SessionSummaryAnswer.model_validate(answer.data)
    except ValidationError as problem:
        raise ModelError(
            f"The account cannot be used: {problem.errors()[0]['msg']}.", retryable=False
        ) from None
    summary = " ".join(found.summary.split())
    if not summary:
        return None
    return SessionSummary(
        themes=tuple(" ".join(theme.split())[:60] for theme in found.themes if theme.strip())[
            :_THEMES
        ],
        summary=summary if len(summary) <= limit else summary[: limit - 1].rstrip() + "…",
        opened=found.mood.opened[:60],
        closed=found.mood.closed[:60],
        loops=_shorten_list(found.open_loops),
        resolved=_shorten_list(found.resolved),
        evidence=tuple(
            Evidence(turn.text[:200], turn.id, turn.speaker)
            for turn in reversed(shown)
            if turn.text
        ),
        extractor=chat.name,
        prompt=prompt.hash,
        cost=ModelCost(answer.calls, answer.tokens),
    )


def build_arc(
    turns: Sequence[Record], chat: ChatModel | None, limit: int
) -> tuple[SessionSummary | None, str]:
    """Summarise a session by the model; rules replace a failed one.

    Returns the account (None: nothing worth one) and the model's error message (empty: none).
    """
    if chat is None:
        return build_by_rules(turns, limit), ""
    try:
        return build_by_model(turns, chat, limit), ""
    except (ModelError, BudgetError) as problem:
        return build_by_rules(turns, limit), problem.message


def select_turns(records: Sequence[Record]) -> list[Record]:
    """Select turns and exchanges, in their order."""
    return [record for record in records if record.kind in (Kind.TURN, Kind.EXCHANGE)]


def _find_themes(turns: Sequence[Record]) -> tuple[str, ...]:
    """Find words of two turns or more, most frequent first."""
    counts: Counter[str] = Counter()
    spelt: dict[str, str] = {}
    for turn in turns:
        for word in dict.fromkeys(tokens(turn.text)):
            stem = next(iter(terms(word)), "")
            if stem and word not in STOP and len(word) > 1 and not word.isdigit():
                spelt.setdefault(stem, word)
        counts.update({stem for stem in terms(turn.text) if stem in spelt})
    often = [stem for stem, number in counts.items() if number >= 2]
    order = {stem: at for at, stem in enumerate(spelt)}
    return tuple(
        spelt[stem]
        for stem in sorted(often, key=lambda stem: (-counts[stem], order[stem]))[:_THEMES]
    )


def _split_questions(turns: Sequence[Record]) -> tuple[list[Record], list[Record]]:
    open_: list[Record] = []
    settled: list[Record] = []
    for at, turn in enumerate(turns):
        if turn.role in ("user", "") and is_question(turn.text):
            answered = any(later.role == "assistant" for later in turns[at + 1 : at + 2])
            (settled if answered else open_).append(turn)
    return open_, settled


def _detect_mood(turns: Sequence[Record]) -> str:
    found = {word for turn in turns for word in tokens(turn.text)}
    glad = len(found & _GLAD)
    low = len(found & _LOW)
    if glad == low:
        return "neutral"
    if glad > low:
        return "glad"
    return "low"


def _shorten_list(texts: Sequence[str]) -> tuple[str, ...]:
    plain = (" ".join(text.split()) for text in texts)
    return tuple(
        dict.fromkeys(
            text if len(text) <= _LOOP else text[: _LOOP - 1] + "…" for text in plain if text
        )
    )[:_LOOPS]
