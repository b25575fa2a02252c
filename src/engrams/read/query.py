"""Query preparation: BM25 terms, vector, cues for time and people."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engrams.errors import EngramsError
from engrams.ports import Embedder, Seek
from engrams.read.cues import QueryCues, parse_query
from engrams.read.predicates import find_answering
from engrams.read.request import ReadDeps, ReadRequest
from engrams.text.terms import terms
from engrams.types import Kind

if TYPE_CHECKING:
    from engrams.ports.search import Floats

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PreparedQuery:
    """Query ready for the sources."""

    cues: QueryCues
    seek: Seek
    answering: Mapping[str, float]
    embed_error: str = ""
    """Error of the embedder; empty: none."""


def prepare_query(request: ReadRequest, deps: ReadDeps) -> PreparedQuery:
    """Parse the cues of a query, embed it and weigh its words."""
    speakers = deps.search.speakers(request.reach)
    understood = parse_query(request.text, request.now, speakers)
    vector, trouble = _embed_query(understood.dense_text, deps.embedder)
    seek = Seek(
        reach=request.reach,
        now=request.now,
        terms=tuple(dict.fromkeys((term, 1.0) for term in terms(understood.lexical_text))),
        vector=vector,
        model=deps.embedder.card.id,
        width=deps.settings.candidates,
        as_of=request.as_of,
        history=request.history,
        kinds=request.kinds or _wanted_kinds(deps.settings.exclude_kinds),
        where=request.where,
    )
    return PreparedQuery(understood, seek, find_answering(request.text, understood, request.reach, deps.records), trouble)


def _wanted_kinds(left_out: Sequence[str]) -> tuple[Kind, ...]:
    """All kinds but the excluded; empty means all."""
    return tuple(kind for kind in Kind if kind not in left_out) if left_out else ()


def _embed_query(text: str, embedder: Embedder) -> tuple[Floats | None, str]:
    """Embed the query; a read goes on by words after an error."""
    if not embedder.card.dimension or not text.strip():
        return None, ""
    try:
        vector = embedder.embed([text], "query")[0]
    except EngramsError as problem:
        return None, problem.message
    except Exception as problem:  # noqa: BLE001 - the edge of the flow: an embedder may be anybody's, and a read never fails because of it
        _log.warning("the embedder failed", exc_info=True)
        return None, type(problem).__name__
    return (vector if vector.any() else None), ""
