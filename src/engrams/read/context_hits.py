"""Hits of a context: what gives them meaning is added, and what stands elsewhere is left out."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal

from engrams.core import UNSEARCHED, Hit, Kind, Record, SearchResult, Status
from engrams.frozen_data import replace
from engrams.ports import Condition, RecordQuery, Where
from engrams.read.corrected_words import mask_corrected
from engrams.read.dependencies import ReadDeps
from engrams.read.excerpts import split_sentences
from engrams.read.fact_joining import (
    FactGroupingRules,
    find_derived,
    follow_refinements,
    group_hits,
    is_correction,
)
from engrams.read.later_values import answers_ended
from engrams.read.link_expansion import LinkCache
from engrams.read.relevance.features import bears_on
from engrams.read.render import DOUBTED, profile_statement
from engrams.read.request import ReadRequest
from engrams.read.succession import gives_way, mark_outdated
from engrams.text.acknowledgements import cut_opening, is_acknowledgement, is_answer
from engrams.text.normalize import fold
from engrams.text.stopwords import STOP
from engrams.text.terms import terms

_LOOKED_AT = 4
"""Hits, best first, whose neighbours are looked for: each is one question to the store."""

_SHORT = 4
"""Terms up to which a turn is taken for an answer."""

_FEWEST_TERMS = 2
"""Terms from which the rest of a message says something."""

_HEADING = r"(?:[^.!?:\n]*:\s*)?"
"""Words that a colon leads to a quote: "refactor the cart: let's take Zustand"."""

_ECHO = 0.7
"""Share of an assistant's words that a better hit has, from which it is an echo."""


_NEAR_BEST = 0.75
"""Share of the best score from which a hit is probable in a memory too small to be judged."""

_SAME_PERSON = re.compile(
    r"(?:s?he|her|his|they|their|sie|er|ihre?|seine?|elles?|ils?|ella|él|ellos|sus?)\b|她|他|彼",
    re.IGNORECASE,
)
"""Opening of a sentence about the person that the sentence before it names."""
_AGENT_PROBABILITY = 0.5
"""Least probability of an assistant's message, and of a note about its work: what it did at a user's
word mostly repeats that, or was of that day.
"""


def add_last_episode(hits: Sequence[Hit], request: ReadRequest, deps: ReadDeps) -> Sequence[Hit]:
    """Put the latest episode first, whatever its age, where the request is to catch up."""
    if not request.catch_up:
        return hits
    page = deps.records.find(RecordQuery(request.reach, (Kind.EPISODE,), limit=1))
    if not page.records or any(hit.record.id == page.records[0].id for hit in hits):
        return hits
    episode = mask_corrected(page.records[0])
    return (Hit(episode, 1.0, episode.status), *hits)


def add_neighbours(hits: Sequence[Hit], request: ReadRequest, deps: ReadDeps) -> list[Hit]:
    """Add to questions their answers, to short turns the turn before.

    A turn of which facts are known stands alone and gets none, and no turn comes that is over. They
    count: ``request.limit`` hits at most in all, besides the episodes that a context adds. An answer, or the question of one, may take
    the place of the last hit; any other turn before takes only one that is left over. Not where
    tiers are searched: an exchange has both, and nothing comes that is not near itself. Bare thanks
    and assent are left out, but for a yes or no beside its question.
    """
    hits = [hit for hit in hits if hit.facts or not is_acknowledgement(hit.record.text)]
    if deps.settings.routing.mode == "tiers":
        return hits
    hits_by_id = {hit.record.id: hit for hit in hits}
    joined: dict[str, Hit] = {}
    limit = request.limit
    if request.adds_episodes and deps.settings.episodes:
        limit += sum(hit.record.kind is Kind.EPISODE for hit in hits)
    room = limit - len(hits)
    for position, hit in enumerate(hits):
        joined.setdefault(hit.record.id, hit)
        side = _missing_side(hit.record) if position < _LOOKED_AT else None
        neighbour = _find_neighbour(hit.record, side, request, deps) if side else None
        if neighbour is None or neighbour.id in joined or _says_nothing(neighbour):
            continue
        if neighbour.id in hits_by_id:
            joined[neighbour.id] = hits_by_id[neighbour.id]
            continue
        is_pair = _is_question(hit.record) or _is_question(neighbour)
        # Where hits were judged, or only what probably helps is wanted, no turn comes that was not.
        is_choosy = request.least_probability or hit.probability is not None
        if not is_pair and (room <= 0 or is_choosy or hit.facts):
            continue
        if not is_pair and _is_over(neighbour, request, deps):
            continue
        room -= 1
        joined[neighbour.id] = replace(
            hit,
            record=mask_corrected(neighbour),
            status=neighbour.status,
            facts=(),
            snippet="",
            outdated=None,
            ended_clauses=(),
        )
    return list(joined.values())[:limit]


def choose_helpful(result: SearchResult, request: ReadRequest) -> list[Hit]:
    """Choose the hits that help, or whose trigger the query names; nothing where none does.

    What was judged comes in the order of its probability, each thing once: what an assistant only
    repeats is left out, and so is what has ended and what it replied to that, unless the past was
    asked about. What helps with less than ``request.least_probability`` is left out, and so is what may have ended beside the
    message that may have ended it.
    """
    if result.abstain:
        return [hit for hit in result.hits if "trigger" in hit.parts]
    hits = list(result.helpful)
    asks_past = bool(result.trace.understood.get("past"))
    if not asks_past:
        hits = _drop_slips(hits)
    if request.least_probability:
        hits = _keep_probable(hits, request.text, request.least_probability)
        if not asks_past:
            given_ids = _list_given(result.hits, request.already_given)
            hits = _drop_replaced(hits, given_ids, frozenset(terms(request.text)))
        hits = _drop_quoted(hits)
    if any(hit.probability is None for hit in hits):
        return hits
    hits.sort(key=lambda hit: -(hit.probability or 0.0))
    if not asks_past:
        hits = _drop_ended(hits)
        hits = [hit for hit in hits if not answers_ended(hit, result.hits)]
    return _drop_echoes(hits)


def _repeats_query(hit: Hit, text: str) -> bool:
    """True for a message that taught nothing and is the query itself, said before.

    A question is none: it brings its answer.
    """
    if hit.facts or _is_question(hit.record):
        return False
    return _fold_sentence(hit.record.text) == _fold_sentence(text)


def _fold_sentence(text: str) -> str:
    return fold(text).strip(" .!\n")


def _keep_probable(hits: Sequence[Hit], text: str, least_probability: float) -> list[Hit]:
    """Keep what helps with a probability; of hits that are not judged, those near the best one.

    What only repeats the query goes. What somebody may not eat stays however improbable it is.
    """
    best_score = max((hit.score for hit in hits), default=0.0)
    probable_hits: list[Hit] = []
    for hit in hits:
        if _repeats_query(hit, text):
            continue
        if hit.probability is None:
            is_probable = hit.score >= _NEAR_BEST * best_score
        elif hit.record.role in ("assistant", "tool"):
            is_probable = hit.probability >= max(least_probability, _AGENT_PROBABILITY)
        else:
            is_probable = hit.probability >= least_probability
        if is_probable or "trigger" in hit.parts or bears_on(text, hit.record.search_text):
            probable_hits.append(hit)
    return probable_hits


def _drop_slips(hits: Sequence[Hit]) -> list[Hit]:
    """Leave out messages whose wrong value another hit sets right."""
    correcting_ids = {
        item.source for hit in hits if is_correction(hit.record) for item in hit.record.evidence
    }
    return [
        hit
        for hit in hits
        if hit.outdated is None or not hit.outdated.closed or hit.outdated.by not in correcting_ids
    ]


def _drop_ended(hits: Sequence[Hit]) -> list[Hit]:
    """Leave out what has ended, where something else is left."""
    lasting = [hit for hit in hits if not _has_ended(hit)]
    return lasting or list(hits)


def _list_given(hits: Iterable[Hit], already_given: Collection[str]) -> set[str]:
    """List what the reader was given, with the messages that say so."""
    messages = {
        hit.record.id for hit in hits if any(fact.id in already_given for fact in hit.facts)
    }
    return messages.union(already_given)


def _drop_replaced(
    hits: Sequence[Hit], given_ids: Collection[str], query_terms: frozenset[str]
) -> list[Hit]:
    """Leave out what may have ended, where what may have ended it is shown too, or was given."""
    shown = {record.id for hit in hits for record in (hit.record, *hit.facts)}.union(given_ids)
    return [
        hit
        for hit in hits
        if hit.outdated is None
        or not hit.outdated.is_told
        or hit.outdated.by not in shown
        or not gives_way(hit, query_terms)
    ]


def _drop_quoted(hits: Sequence[Hit]) -> list[Hit]:
    """Leave out messages that another hit quotes, as what was done for a request quotes it."""
    texts = [_fold_sentence(hit.record.text) for hit in hits]
    return [
        hit
        for hit, text in zip(hits, texts, strict=True)
        if hit.facts
        or not any(len(text) < len(longer_text) and text in longer_text for longer_text in texts)
    ]


def _has_ended(hit: Hit) -> bool:
    """True for what is over, and for an assistant's words about what may be."""
    mark = hit.outdated
    if hit.status is Status.SUPERSEDED or (mark is not None and mark.closed):
        return True
    return mark is not None and mark.is_told and hit.record.role == "assistant"


def _drop_echoes(hits: Sequence[Hit]) -> list[Hit]:
    """Leave out assistants' messages of which a better hit says nearly everything."""
    kept: list[Hit] = []
    for hit in hits:
        words = set(terms(hit.record.search_text))
        is_echo = hit.record.role == "assistant" and any(
            len(words & set(terms(better.record.search_text))) >= _ECHO * len(words)
            for better in kept
        )
        if not is_echo:
            kept.append(hit)
    return kept


def _missing_side(record: Record) -> Literal["newest", "oldest"] | None:
    """Choose the neighbour a turn needs: newest before, oldest after, or none."""
    if record.kind is not Kind.TURN or not record.session:
        return None
    if _is_question(record):
        return "oldest"
    return "newest" if len(terms(record.search_text)) <= _SHORT else None


def _is_question(record: Record) -> bool:
    return record.text.rstrip().endswith(("?", "？"))


def _says_nothing(record: Record) -> bool:
    """True for bare thanks and assent; a yes or no says something beside its question."""
    return is_acknowledgement(record.text) and not is_answer(record.text)


def _find_neighbour(
    record: Record, order: Literal["newest", "oldest"], request: ReadRequest, deps: ReadDeps
) -> Record | None:
    page = deps.records.find(
        RecordQuery(
            request.reach,
            (Kind.TURN,),
            as_of=request.as_of,
            session=record.session,
            order=order,
            after=record.id,
            limit=1,
        )
    )
    if not page.records:
        return None
    (neighbour,) = page.records
    if (
        neighbour.id in request.already_shown
        or neighbour.scope != record.scope
        or UNSEARCHED in neighbour.meta
    ):
        return None
    return neighbour


def _is_over(record: Record, request: ReadRequest, deps: ReadDeps) -> bool:
    """True for a message that has ended, as a search would mark it."""
    owner = request.scope.owner
    links = LinkCache(owner, deps.links)
    links.fetch_with_records([record.id])
    derived = find_derived(links.find_sources([record.id]), links.records)
    refined = follow_refinements(
        derived.get(record.id, ()), lambda ids: deps.records.get(owner, ids)
    )
    rules = FactGroupingRules(request.now, request.as_of)
    grouped = group_hits([Hit(record, 0.0, record.status)], derived, refined, rules)
    later = links.find_later([record.id])
    return any(map(_has_ended, mark_outdated(grouped.hits, later, links.records, request)))


def keep_matching(hits: list[Hit], request: ReadRequest, deps: ReadDeps) -> list[Hit]:
    """Leave out what was added to the hits of a search, and does not pass the request's filter."""
    if request.where is None or not hits:
        return hits
    is_one = Condition("id", "in", [hit.record.id for hit in hits])
    query = RecordQuery(
        request.reach,
        statuses=tuple(Status),
        where=Where("and", (is_one, request.where)),
        limit=len(hits),
    )
    matching = {record.id for record in deps.records.find(query).records}
    return [hit for hit in hits if hit.record.id in matching]


def drop_given(hits: Sequence[Hit], request: ReadRequest) -> list[Hit]:
    """Leave out what the reader was given before, and what their session said itself.

    Of a message whose statements the reader was given, only what it says besides is left.
    """
    new_hits: list[Hit] = []
    query_terms = frozenset(terms(request.text))
    for hit in hits:
        is_own = bool(request.session) and hit.record.session == request.session
        if is_own or hit.record.id in request.already_given:
            continue
        quotes = _list_given_quotes(hit, request.already_given)
        if not quotes:
            new_hits.append(hit)
        elif _says_besides(hit.record.text, quotes):
            shortened = _cut_quoted(hit, quotes)
            if not _fits_by_cut(hit, shortened, query_terms):
                new_hits.append(shortened)
    return new_hits


def _says_besides(text: str, quotes: Iterable[str]) -> bool:
    """Return True if a message says more than some quotes.

    An acknowledgement says nothing without them, nor does what a colon leads to them.
    """
    for quote in quotes:
        text = re.sub(_HEADING + re.escape(quote), " ", text)
    return bool(terms(text)) and not is_acknowledgement(text)


def _list_given_quotes(hit: Hit, given_ids: Collection[str]) -> list[str]:
    """List the words of a message that statements hold which the reader was given."""
    quotes: list[str] = []
    for fact in hit.facts:
        if fact.id in given_ids:
            stated_terms = set(terms(profile_statement(fact).words))
            quotes += [
                item.quote
                for item in fact.evidence
                if item.source == hit.record.id
                and stated_terms.issuperset(terms(cut_opening(item.quote)))
            ]
    return quotes


def drop_shown(
    hits: Iterable[Hit], shown: Iterable[Record], profile: Sequence[Record]
) -> list[Hit]:
    """Leave out records shown elsewhere, and turns that the profile repeats.

    A turn that may be outdated stays if the profile does not say so of its facts.
    """
    shown_ids = {record.id for record in shown}
    hits = [hit for hit in hits if hit.record.id not in shown_ids]
    doubted_sources = {
        quote.source for fact in profile if DOUBTED in fact.meta for quote in fact.evidence
    }
    outdated = {hit.record.id for hit in hits if hit.outdated and hit.outdated.is_told}
    profile_terms: dict[str, set[str]] = {}
    for fact in profile:
        for quote in fact.evidence:
            profile_terms.setdefault(quote.source, set()).update(
                terms(f"{fact.text} {fact.subject}")
            )
    return [
        hit
        for hit in hits
        if hit.record.id in outdated - doubted_sources
        or not _is_repeated(hit.record, profile_terms)
    ]


def _is_repeated(turn: Record, profile_terms: Mapping[str, set[str]]) -> bool:
    """True if facts that quote a turn have all of its terms."""
    if turn.id not in profile_terms:
        return False
    return profile_terms[turn.id].issuperset(terms(turn.search_text))


def cut_quoted_sentences(
    hits: Sequence[Hit], profile: Sequence[Record], request: ReadRequest
) -> list[Hit]:
    """Cut from messages the sentences that the profile quotes, where the rest says something.

    A message that fits the request only by those sentences is left out.
    """
    quotes: dict[str, list[str]] = {}
    for fact in profile:
        for item in fact.evidence:
            quotes.setdefault(item.source, []).append(item.quote)
    query_terms = frozenset(terms(request.text))
    shortened_hits = [_cut_quoted(hit, quotes.get(hit.record.id, ())) for hit in hits]
    return [
        shortened
        for hit, shortened in zip(hits, shortened_hits, strict=True)
        if not _fits_by_cut(hit, shortened, query_terms)
    ]


def _fits_by_cut(hit: Hit, shortened: Hit, query_terms: frozenset[str]) -> bool:
    """True if only the sentences that were cut from a message share words with the query.

    "Fixtures live beside the spec. I know that looks odd": the second says nothing of fixtures. In
    "My mother's birthday is in May. She loves orchids" it speaks of the same person.
    """
    if shortened is hit:
        return False
    whole_terms = set(terms(hit.record.text))
    fits_whole = not query_terms.isdisjoint(whole_terms)
    if not fits_whole or not query_terms.isdisjoint(terms(shortened.record.text)):
        return False
    asks_more = not query_terms <= whole_terms | STOP
    return not (asks_more and _SAME_PERSON.match(shortened.record.text))


def _cut_quoted(hit: Hit, quotes: Sequence[str]) -> Hit:
    # Marks name their clause by its words: such a message stays whole.
    if not quotes or hit.outdated is not None or hit.ended_clauses:
        return hit
    sentences = split_sentences(hit.record.text)
    rest = [
        sentence
        for sentence in sentences
        if not any(sentence.strip().rstrip(".!") in quote for quote in quotes)
    ]
    text = " ".join(rest)
    if len(rest) == len(sentences) or len(terms(text)) < _FEWEST_TERMS:
        return hit
    return replace(hit, record=replace(hit.record, text=text))
