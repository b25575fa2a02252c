"""Reads the cues out of a query."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from engrams.read.cues import intent, people, rewrite
from engrams.read.cues.understood import Understood
from engrams.text.fold import fold
from engrams.text.when import find, language


def understand(query: str, now: datetime, speakers: Mapping[str, int]) -> Understood:
    """What a query asks for. ``speakers``: everyone who spoke, with counts. Dates without a year are seen from ``now``.

    Takes any text; what cannot be understood is left out, and ``dense`` and ``lexical`` are then the query as given.
    """
    folded = fold(query)
    tongue = language(query)
    named = people.mentions(query, speakers, tongue)
    known = tuple(dict.fromkeys(mention.speaker for mention in named if mention.speaker))
    about = people.about(query, named)
    role = people.role(query, tongue) if not about else ""
    named_speakers = sum(1 for speaker in speakers if speaker.casefold() not in people.ROLES)
    return Understood(
        query=query,
        people=known,
        names=tuple(dict.fromkeys(query[mention.at : mention.end] for mention in named if not mention.speaker)),
        about=about,
        role=role,
        dense=rewrite.dense(query, named, about, role, tongue, named_speakers) or query,
        lexical=rewrite.lexical(query, named, about) or query,
        spans=find(query, now),
        kind=intent.kind(folded),
        wants_time=intent.wants_time(folded),
        latest=intent.latest(folded),
        past=intent.past(folded),
        parts=intent.parts(query),
        language=tongue,
    )
