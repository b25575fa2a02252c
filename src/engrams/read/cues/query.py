"""Cues of a parsed query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from engrams.text.when import Span
from engrams.types import Json

QuestionKind: TypeAlias = Literal["when", "who", "how_many", "where", "did", "said", "list", "other"]


@dataclass(frozen=True, slots=True)
class QueryCues:
    """Parsed query for the sources and scores.

    ``people``: speakers it names, in order; ``other_names``: unknown names, as written. ``asked_about``: the speakers asked
    about (both of "What do Ann and Bob share?"), out of ``people``. ``role``: user where the asker means themselves ("my
    dog"), assistant where they address it ("what did you suggest"), else empty. ``dense_text``: text for the embedder, as the
    person asked about would say it. ``lexical_text``: text for BM25. ``spans``: times meant. ``questions``: the questions it
    consists of; itself if one.
    """

    query: str
    people: tuple[str, ...] = ()
    other_names: tuple[str, ...] = ()
    asked_about: tuple[str, ...] = ()
    role: Literal["", "user", "assistant"] = ""
    dense_text: str = ""
    lexical_text: str = ""
    spans: tuple[Span, ...] = ()
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
