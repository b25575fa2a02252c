"""Parser of the cues of a query."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from engrams.read.cues import intent, mentions, pronouns, rewrite
from engrams.read.cues.conversation import TAIL
from engrams.read.cues.query import QueryCues
from engrams.text.normalize import fold
from engrams.text.when import detect_language, find_times


def parse_query(query: str, now: datetime, speakers: Mapping[str, int]) -> QueryCues:
    """Parse the cues of a query.

    ``speakers``: everyone who spoke, with counts. Dates without a year are resolved from ``now``. Takes any text and reads its last
    4000 characters; without cues, ``dense_text`` and ``lexical_text`` are these unchanged.
    """
    tail = query[-TAIL:]
    tongue = detect_language(tail)
    text = rewrite.strip_politeness(tail)
    folded = fold(text)
    named = mentions.find_mentions(text, speakers, tongue)
    about = mentions.asked_speakers(text, named)
    role = pronouns.asked_role(folded, tongue) if not about else ""
    company = sum(1 for speaker in speakers if speaker.casefold() not in mentions.ROLES)
    return QueryCues(
        query=query,
        people=tuple(dict.fromkeys(mention.speaker for mention in named if mention.speaker)),
        other_names=tuple(dict.fromkeys(text[mention.at : mention.end] for mention in named if not mention.speaker)),
        asked_about=about,
        role=role,
        dense_text=rewrite.rewrite_dense(text, named, rewrite.QuerySubject(about, role, tongue, company)) or text,
        lexical_text=rewrite.rewrite_lexical(text, named, about) or text,
        spans=find_times(tail, now),
        kind=intent.question_kind(folded),
        wants_time=intent.wants_time(folded),
        wants_current=intent.wants_current(folded),
        wants_past=intent.wants_past(folded),
        questions=intent.split_questions(text),
        language=tongue,
    )
