"""What a query was understood to ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from engrams.text.when import Span
from engrams.types import Json

Asked: TypeAlias = Literal["when", "who", "how_many", "where", "did", "said", "list", "other"]


@dataclass(frozen=True, slots=True)
class Understood:
    """A query as the sources and scores want it.

    ``people``: the known speakers it names, as they are known, in order; ``names``: other names, as written. ``about``: the
    speakers asked about (both of "What do Ann and Bob share?"), out of ``people``. ``role``: user where the asker means
    themselves ("my dog"), assistant where they address it ("what did you suggest"), else empty. ``dense``: the text for the
    embedder, as the person asked about would say it. ``lexical``: the text for BM25. ``spans``: the times meant. ``latest``:
    what holds now is wanted; ``past``: what held before. ``parts``: the questions it consists of, itself alone if one.
    """

    query: str
    people: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    role: Literal["", "user", "assistant"] = ""
    dense: str = ""
    lexical: str = ""
    spans: tuple[Span, ...] = ()
    kind: Asked = "other"
    wants_time: bool = False
    latest: bool = False
    past: bool = False
    parts: tuple[str, ...] = ()
    language: str = "en"

    def as_json(self) -> Json:
        """For a trace: everything that is not empty."""
        spans = [
            {"text": span.text, "from": span.start.isoformat(), "to": span.end.isoformat(), "grain": span.grain} for span in self.spans
        ]
        values = {
            "people": list(self.people),
            "names": list(self.names),
            "about": list(self.about),
            "role": self.role,
            "dense": self.dense,
            "lexical": self.lexical,
            "times": spans,
            "kind": self.kind,
            "wants_time": self.wants_time,
            "latest": self.latest,
            "past": self.past,
            "parts": list(self.parts) if len(self.parts) > 1 else [],
            "language": self.language,
        }
        return {name: value for name, value in values.items() if value}
