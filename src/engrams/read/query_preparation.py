"""Query preparation: terms, vector, cues for time and people, predicates asked for."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from engrams.core import Kind
from engrams.errors import EngramsError
from engrams.frozen_data import dataclass
from engrams.ports import (
    CandidateSearchQuery,
    Embedder,
    FactSlot,
    RecordQuery,
    RecordStore,
    ScopeReach,
)
from engrams.read.cues import QueryCues, parse_query
from engrams.read.request import ReadDeps, ReadRequest
from engrams.text.identifiers import find_identifiers
from engrams.text.normalize import fold
from engrams.text.prose import strip_code
from engrams.text.terms import find_forms, terms

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Floats

_KINDS = (Kind.FACT, Kind.PREFERENCE, Kind.PROCEDURE, Kind.CORRECTION, Kind.NEGATIVE, Kind.RULE)
_MAX_SLOTS = 200
_COMMON = 0.2
"""Weight of the function words of other languages than English."""

_ASKED: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = tuple(
    (re.compile(pattern), tuple(predicates.split()))
    for pattern, predicates in (
        (
            r"\b(?:lives?|living|home|resides?|address|wohn\w*|viv\w+|habit\w+)\b|住|暮ら",
            "lives_in address home_town grew_up_in from",
        ),
        (
            r"\b(?:works?|working|jobs?|employ\w+|company|profession|occupation|career|arbeit\w*|trabaj\w+|travaill\w*)\b|工作|仕事",
            "works_at job",
        ),
        (
            r"\b(?:phone|telephone|mobile|number|call|reach|telefon\w*|handy|telefono|movil|portable)\b|电话|手机|電話",
            "phone phone_number",
        ),
        (r"\be-?mail\b|邮箱|メール", "email"),
        (
            r"\b(?:names?|named|called|spell(?:ed|t)?|heiss\w*|llam\w+|appel\w+)\b|叫什么|名前",
            "is_named nickname",
        ),
        (
            (
                r"\b(?:how"
                r" old|age|birthday|born|geburtstag|alt|cumpleanos|edad|anniversaire|age)\b|生日|几岁|誕生日"
            ),
            "age birthday born_in",
        ),
        (
            r"\b(?:allerg\w+|intoleran\w+|ill|sick|avoid|diet|vegan\w*|vegetarian\w*)\b|过敏|アレルギー",
            "allergic_to diet avoids eats",
        ),
        (
            r"\b(?:married|husband|wife|spouse|partner|dating|engaged|girlfriend|boyfriend|verheiratet|casad\w+|marie\w*)\b|结婚|結婚",
            "married_to engaged_to dating marital_status",
        ),
        (
            r"\b(?:speaks?|languages?|sprach\w*|sprich\w*|idiomas?|habla\w*|langues?|parle\w*)\b|语言|話せ",
            "speaks native_language learning learns",
        ),
        (
            r"\b(?:stud(?:y|ies|ied|ying)|university|college|degree|major|school|studier\w*|estudi\w+|etudi\w+)\b|大学|学校",
            "studies studies_at graduated_from attends major",
        ),
        (
            r"\b(?:hobb\w+|likes?|enjoys?|loves?|hates?|dislikes?|prefers?|favou?rites?|gefallt|gusta\w*|aime\w*)\b|喜欢|好き",
            "likes prefers enjoys",
        ),
        (r"\b(?:pets?|haustier\w*|mascotas?)\b|宠物|ペット", "has adopted has_pet is_named"),
        (
            r"\b(?:never|rules?|always|must not|forbidden|not allowed|avoid)\b",
            "never always avoids",
        ),
    )
)
_FAVOURITE = re.compile(r"\bfavou?rite (\w+)")


_log = logging.getLogger(__name__)


def asked_predicates(query: str) -> tuple[str, ...]:
    """Predicates that the words of a question ask for."""
    folded = fold(query)
    found = [
        name for pattern, predicates in _ASKED if pattern.search(folded) for name in predicates
    ]
    found += [f"favorite_{noun}" for noun in _FAVOURITE.findall(folded)]
    return tuple(dict.fromkeys(found))


def find_answering(
    query: str, cues: QueryCues, reach: ScopeReach, records: RecordStore
) -> Mapping[str, float]:
    """Find current statements with an asked predicate: id -> subject fit.

    The fit is 1, or 0.5 where the query names nobody.
    """
    predicates = asked_predicates(query)
    if not predicates:
        return {}
    people = tuple(name for name in map(fold, (*cues.asked_about, *cues.other_names)) if name)
    found = records.slots(
        RecordQuery(reach, _KINDS, predicates=predicates, about=people, limit=_MAX_SLOTS)
    )
    subjects = {subject: fold(subject) for subject in {slot.subject for slot in found}}
    return {
        slot.id: fit
        for slot in found
        if (fit := _subject_fit(slot, subjects[slot.subject], people, cues.role))
    }


def _subject_fit(slot: FactSlot, subject: str, people: Sequence[str], role: str) -> float:
    if people:
        return float(bool(subject) and any(name in subject or subject in name for name in people))
    if role == "user":
        return 1.0 if subject == "user" or slot.role == "user" else 0.0
    return 0.5


@dataclass(frozen=True, slots=True)
class PreparedQuery:
    """Query ready for the sources."""

    cues: QueryCues
    seek: CandidateSearchQuery
    answering: Mapping[str, float]
    commit: str = ""
    """Mark of the last commit that the survey saw."""
    embed_error: str = ""
    """Error of the embedder; empty: none."""


def prepare_query(request: ReadRequest, deps: ReadDeps) -> PreparedQuery:
    """Parse the cues of a query, embed it and weigh its words."""
    survey = deps.search.survey(request.reach)
    left_out = deps.settings.exclude_kinds
    understood = parse_query(request.text, request.now, survey.speakers)
    forms = find_forms(understood.lexical_text, request.text)
    vector, trouble = _embed_query(strip_code(understood.dense_text), deps.embedder)
    seek = CandidateSearchQuery(
        reach=request.reach,
        now=request.now,
        terms=tuple(
            (term, _COMMON if term in forms.common else 1.0)
            for term in dict.fromkeys(terms(understood.lexical_text))
        ),
        vector=vector,
        model=deps.embedder.card.id,
        width=deps.settings.candidates,
        as_of=request.as_of,
        history=request.history,
        kinds=request.kinds
        or (tuple(kind for kind in Kind if kind not in left_out) if left_out else ()),
        where=request.where,
        forms=forms,
        last_change=survey.last_change,
        identifiers=_list_identifiers(request.text, survey.speakers),
    )
    return PreparedQuery(
        cues=understood,
        seek=seek,
        answering=find_answering(request.text, understood, request.reach, deps.records),
        commit=survey.commit,
        embed_error=trouble,
    )


def _list_identifiers(query: str, speakers: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """Terms of each identifier in a query, but for speakers' names."""
    found = find_identifiers(query)
    names = {word for name in speakers for word in fold(name).split()} if found else set[str]()
    return tuple([tuple(terms(word)) for word in found if word not in names])


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
