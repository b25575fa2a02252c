"""The query as the sources want it: words for BM25, a vector for meaning, cues for time and people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engrams.ports import Embedder, Seek
from engrams.read.cues import Understood, understand
from engrams.read.request import Deps, Request
from engrams.read.slots import answering
from engrams.text.terms import terms

if TYPE_CHECKING:
    from engrams.ports.search import Floats


@dataclass(frozen=True, slots=True)
class Prepared:
    """A query ready for the sources."""

    understood: Understood
    seek: Seek
    answering: Mapping[str, float]


def prepare(request: Request, deps: Deps) -> Prepared:
    """Read the cues out of the text, embed it, and weigh its words."""
    speakers = deps.search.speakers(request.reach)
    understood = understand(request.text, request.now, speakers)
    seek = Seek(
        reach=request.reach,
        now=request.now,
        terms=tuple(dict.fromkeys((term, 1.0) for term in terms(understood.lexical))),
        vector=_vector(understood.dense, deps.embedder),
        model=deps.embedder.card.id,
        width=deps.settings.width,
        as_of=request.as_of,
        history=request.history,
        kinds=request.kinds,
        where=request.where,
    )
    return Prepared(understood, seek, answering(request.text, understood, request.reach, deps.records))


def _vector(text: str, embedder: Embedder) -> Floats | None:
    if not embedder.card.dimension or not text.strip():
        return None
    vector = embedder.embed([text], "query")[0]
    return vector if vector.any() else None
