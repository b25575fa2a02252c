"""Cues of a query, and their parser."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from engrams.read.cues import answerintent, firstpersonrewrite, namementions
from engrams.read.cues.answerintent import QuestionKind
from engrams.read.cues.conversationquery import TAIL
from engrams.text.normalize import fold
from engrams.text.timephrases import TimeSpan, detect_language, find_times
from engrams.types import Json


@dataclass(frozen=True, slots=True)
class QueryCues:
    """Parsed query: people, times, answer kind, rewritten texts.

    ``people``: speakers it names, in order; ``other_names``: unknown names, as written. ``asked_about``: the speakers asked about (both of
    "What do Ann and Bob share?"), out of ``people``. ``role``: user where the asker means themselves ("my dog"), assistant where they
    address it ("what did you suggest"), else empty. ``dense_text``: text for the embedder, as the person asked about would say it.
    ``lexical_text``: text for BM25. ``spans``: times meant. ``questions``: the questions it consists of; itself if one."""

    query: str
    people: tuple[str, ...] = ()
    other_names: tuple[str, ...] = ()
    asked_about: tuple[str, ...] = ()
    role: Literal["", "user", "assistant"] = ""
    dense_text: str = ""
    lexical_text: str = ""
    spans: tuple[TimeSpan, ...] = ()
    kind: QuestionKind = "other"
    wants_time: bool = False
    wants_current: bool = False
    wants_past: bool = False
    questions: tuple[str, ...] = ()
    language: str = "en"

    def to_json(self) -> Json:
        """Non-empty cues, for a trace."""
        spans = [
            {"text": span.text, "from": span.start.isoformat(), "to": span.end.isoformat(), "grain": span.grain} for span in self.spans
        ]
        values = {
            "people": list(self.people),
            "names": list(self.other_names),
            "about": list(self.asked_about),
            "role": self.role,
            "dense": self.dense_text,
            "lexical": self.lexical_text,
            "times": spans,
            "kind": self.kind,
            "wants_time": self.wants_time,
            "latest": self.wants_current,
            "past": self.wants_past,
            "parts": list(self.questions) if len(self.questions) > 1 else [],
            "language": self.language,
        }
        return {name: value for name, value in values.items() if value}


def parse_query(query: str, now: datetime, speakers: Mapping[str, int]) -> QueryCues:
    """Parse the cues of a query.

    ``speakers``: everyone who spoke, with counts. Dates without a year are resolved from ``now``. Takes any text and reads its last 4000
    characters; without cues, ``dense_text`` and ``lexical_text`` are these unchanged."""
    tail = query[-TAIL:]
    tongue = detect_language(tail)
    text = firstpersonrewrite.strip_politeness(tail)
    folded = fold(text)
    named = namementions.find_mentions(text, speakers, tongue)
    about = namementions.asked_speakers(text, named)
    role = answerintent.asked_role(folded, tongue) if not about else ""
    company = sum(1 for speaker in speakers if speaker.casefold() not in namementions.ROLES)
    return QueryCues(
        query=query,
        people=tuple(dict.fromkeys(mention.speaker for mention in named if mention.speaker)),
        other_names=tuple(dict.fromkeys(text[mention.at : mention.end] for mention in named if not mention.speaker)),
        asked_about=about,
        role=role,
        dense_text=firstpersonrewrite.rewrite_dense(text, named, firstpersonrewrite.QuerySubject(about, role, tongue, company)) or text,
        lexical_text=firstpersonrewrite.rewrite_lexical(text, named, about) or text,
        spans=find_times(tail, now),
        kind=answerintent.question_kind(folded),
        wants_time=answerintent.wants_time(folded),
        wants_current=answerintent.wants_current(folded),
        wants_past=answerintent.wants_past(folded),
        questions=answerintent.split_questions(text),
        language=tongue,
    )
