"""Interpretations of every verb but be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from engrams.core import Kind
from engrams.extract.rules import life_events
from engrams.extract.rules.clause_meaning import (
    ClauseMeaning,
    UtteranceContext,
    has_leading_content,
    head_noun,
    is_concrete,
    is_content,
    match_proper_name,
    trim_trailing,
)
from engrams.extract.rules.clause_parser import EnglishClause
from engrams.extract.rules.english_lexicon import (
    DETERMINERS,
    PREPOSITIONS,
    find_lemma,
    past_tense,
    third_person,
)
from engrams.extract.rules.predicate_table import (
    BEGINS,
    CHATTER,
    INTENDS,
    OPINIONS,
    PREFERS,
    PROPER,
    RELATIONS,
    STOPS,
    TOOLS,
    VAGUE,
    VERBS,
    VerbSense,
)
from engrams.extract.rules.sentence_segmenter import ClauseToken
from engrams.text.vocabulary import read_vocabulary
from engrams.text.word_list import word_set

_GENERIC = word_set(
    "sea ocean beach outdoors mountains rain snow sun summer winter spring fall autumn piano guitar"
    " violin countryside city woods forest sky moon internet gym theater theatre opera arts taste"
    " smell sound"
)
_KINDS = word_set(read_vocabulary(__file__, "kinds"))
_PARTICLES = word_set("back over out here up down away together around off along forward")
_DEGREES = frozenset(("very", "well", "much", "that", "often", "enough", "really", "fluently"))
_STATES = frozenset(("lives_in", "works_at", "studies_at", "from", "grew_up_in", "job"))
_WEIGHTY = {
    "home": 0.8,
    "work": 0.7,
    "family": 0.7,
    "health": 0.8,
    "identity": 0.7,
    "decision": 0.7,
    "education": 0.6,
}
_CAPITAL = frozenset(("leave", "quit", "visit", "attend", "speak"))
_ABLE = word_set(
    "play speak swim drive cook read eat drink tolerate cycle ride sew knit code program type dance"
    " sing ski skate bake draw paint write"
)
_EXAGGERATIONS = frozenset(("apparently", "basically", "practically"))
_ALONE = word_set("retire graduate divorce relocate elope")


_Special = Callable[
    [EnglishClause, "tuple[ClauseToken, ...]", UtteranceContext], ClauseMeaning | None
]


def interpret_action(clause: EnglishClause, speech: UtteranceContext) -> ClauseMeaning | None:
    """Interpret a clause by its verb."""
    words = trim_trailing(clause.rest)
    special = _SPECIAL.get(clause.verb)
    if special is not None:
        reading = special(clause, words, speech)
        if reading is not None:
            return _apply_tense(reading, clause)
        if clause.verb in ("like", "love", "want", "need", "get", "have"):
            return None
    if clause.tense == "would":
        return None
    if clause.verb in STOPS | {"give"} and (
        stopped := life_events.interpret_stopping(clause, words)
    ):
        return stopped
    reading = _interpret_place(clause, words, speech) or _interpret_listed(clause, words)
    return _apply_tense(reading, clause) if reading else None


def _apply_tense(reading: ClauseMeaning, clause: EnglishClause) -> ClauseMeaning | None:
    """Adjust an interpretation to tense and negation."""
    if clause.person == "group" and "all" in clause.adverbs:
        return None  # "we all have our paths" is about everybody
    longer = "no longer" in clause.adverbs or (
        clause.negated
        and any(word.lower in ("anymore", "longer", "more") for word in clause.rest[-2:])
    )
    if longer or clause.tense == "used":
        return replace(
            reading, effect="ends", polarity=True, confidence=max(reading.confidence, 0.85)
        )
    if clause.tense in ("future", "must") and reading.predicate not in (
        "plans_to",
        "needs_to",
        "wants_to",
    ):
        return None
    if clause.negated and reading.effect in ("changes", "ends"):
        return replace(reading, polarity=False) if clause.tense in ("past", "perfect") else None
    if (
        clause.negated
        and any(word.lower in _DEGREES for word in clause.rest[-2:])
        and reading.predicate != "likes"
    ):
        return None  # "I don't speak Thai very well" denies little
    if clause.negated and reading.predicate != "likes":
        return replace(reading, polarity=False)
    return reading


def _interpret_place(
    clause: EnglishClause, words: tuple[ClauseToken, ...], speech: UtteranceContext
) -> ClauseMeaning | None:
    """Interpret verbs whose object must be a name: live in X."""
    rest = _find_destination(clause, words)
    prep = rest[0].lower if rest and rest[0].lower in PREPOSITIONS | {"to"} else ""
    if clause.verb == "grow" and prep == "up" and len(rest) > 1 and rest[1].lower in ("in", "near"):
        rest = rest[1:]
    sense = PROPER.get((clause.verb, prep))
    if sense is None:
        return None
    place = match_proper_name(rest[1:] if prep else rest, speech.is_lowercase)
    if place and clause.verb == "speak":
        place = trim_trailing(
            next(
                (
                    rest[:i]
                    for i, word in enumerate(rest)
                    if not (word.text[0].isupper() or word.lower in (",", "and"))
                ),
                rest,
            )
        )
    if not place and prep and sense.category in ("home", "work"):
        place = _match_lower_place(rest[1:])
    if place and sense.category == "home" and place[0].lower in TOOLS:
        return None
    if not place or (
        clause.verb in _CAPITAL and not place[0].text[0].isupper() and not speech.is_lowercase
    ):
        return None
    if (clause.verb == "stay" and clause.tense != "present") or (
        sense.effect == "ends" and clause.tense not in ("past", "perfect")
    ):
        return None
    return _interpret_place_tense(clause, sense, prep, rest, place)


def _find_destination(
    clause: EnglishClause, words: tuple[ClauseToken, ...]
) -> tuple[ClauseToken, ...]:
    """Drop particles; of ``from Y to X`` keep ``to X``."""
    rest = words
    while (
        rest
        and rest[0].lower in _PARTICLES
        and not (rest[0].lower == "up" and clause.verb == "grow")
    ):
        rest = rest[1:]
    if (
        clause.verb in ("move", "relocate", "travel", "fly", "come")
        and rest
        and rest[0].lower == "from"
    ):
        to = next((i for i, word in enumerate(rest) if word.lower == "to"), None)
        if to is not None:
            rest = rest[to:]
    return rest


def _interpret_place_tense(
    clause: EnglishClause,
    sense: VerbSense,
    prep: str,
    rest: tuple[ClauseToken, ...],
    place: tuple[ClauseToken, ...],
) -> ClauseMeaning | None:
    """Interpret a place by tense: plan, past, denial or state."""
    if sense.effect == "changes" and clause.tense in ("progressive", "future", "present", "been"):
        return ClauseMeaning(
            "plans_to",
            "plan",
            place,
            f"{clause.verb} {prep} {' '.join(word.text for word in place)}",
            confidence=0.75,
        )
    before = clause.tense in ("past", "was") or (clause.tense == "perfect" and not clause.lasting)
    if (
        before
        and sense.effect == "states"
        and sense.predicate in _STATES
        and clause.verb in ("live", "work", "study", "reside", "teach")
    ):
        return ClauseMeaning(
            f"{past_tense(clause.verb)}_{prep}", sense.category, place, confidence=0.75, event=True
        )
    if (
        clause.negated
        and len(rest) > len(place) + bool(prep)
        and rest[-1].lower not in ("anymore", "longer", "more")
    ):
        return ClauseMeaning(third_person(clause.verb), sense.category, rest, confidence=0.7)
    at = next(
        (
            i
            for i in range(len(rest) - 2)
            if rest[i].lower == "as" and rest[i + 1].lower in ("a", "an", "the", "their")
        ),
        None,
    )
    extra: tuple[ClauseMeaning, ...] = ()
    if sense.predicate == "works_at" and at is not None and sense.effect != "ends":
        role = trim_trailing(life_events.cut_at_preposition(rest[at + 2 :]))
        extra = (
            (ClauseMeaning("job", "work", role, confidence=0.85, importance=0.8, text="works as"),)
            if role
            else ()
        )
    return ClauseMeaning(
        sense.predicate,
        sense.category,
        place,
        effect=sense.effect,
        confidence=0.9,
        importance=_WEIGHTY.get(sense.category, 0.5),
        event=(clause.tense in ("past", "perfect") and sense.effect != "states")
        or sense.category == "event",
        extra=extra,
    )


def _match_lower_place(words: tuple[ClauseToken, ...]) -> tuple[ClauseToken, ...]:
    """Match a lower-case place: ``i live in berlin``."""
    words = tuple(word for word in words if word.lower not in ("now", "too", "currently"))
    if not 0 < len(words) <= 2 or any(
        word.lower in _KINDS
        or not word.text.isalpha()
        or word.lower in PREPOSITIONS
        or word.lower in DETERMINERS
        for word in words
    ):
        return ()
    return words if is_concrete(words) else ()


def _interpret_listed(
    clause: EnglishClause, words: tuple[ClauseToken, ...]
) -> ClauseMeaning | None:
    rest = words
    if rest and clause.verb == "take" and rest[0].lower == "part":
        rest = rest[1:]
        clause_prep = rest[0].lower if rest else ""
        return (
            ClauseMeaning("took_part_in", "event", rest[1:], confidence=0.85, event=True)
            if clause_prep == "in" and is_concrete(rest[1:])
            else None
        )
    if rest and clause.verb == "sign" and rest[0].lower == "up":
        at = next((i for i, word in enumerate(rest) if word.lower in ("for", "with")), None)
        return (
            ClauseMeaning("signed_up_for", "event", rest[at + 1 :], confidence=0.85, event=True)
            if at is not None and is_concrete(rest[at + 1 :])
            else None
        )
    while rest and rest[0].lower in _PARTICLES:
        rest = rest[1:]
    prep = rest[0].lower if rest and rest[0].lower in PREPOSITIONS | {"to"} else ""
    sense = VERBS.get((clause.verb, prep))
    if (
        sense is None
        or (clause.tense == "can" and clause.verb not in _ABLE)
        or (clause.verb == "have" and clause.tense == "progressive")
    ):
        return None
    target = rest[1:] if prep else rest
    if clause.verb == "work" and prep == "as":
        target = target[1:] if target and target[0].lower in ("a", "an", "the") else target
        target = life_events.cut_at_preposition(target)
    if not is_concrete(target):
        return None
    ongoing = clause.tense in ("present", "progressive", "been", "can")
    name = sense.predicate
    if (
        sense.effect == "states"
        and sense.category in ("activity", "work", "technical", "possession", "family")
        and not ongoing
        and clause.tense != "used"
    ):
        name = f"{past_tense(clause.verb)}{'_' + prep if prep else ''}"
    confidence = sense.confidence if len([word for word in target if is_content(word)]) > 0 else 0.5
    event = not ongoing
    importance = _WEIGHTY.get(sense.category, 0.5)
    return ClauseMeaning(
        predicate=name,
        category=sense.category,
        object=target,
        value="",
        effect=sense.effect,
        polarity=True,
        confidence=confidence,
        importance=importance,
        event=event,
    )


def _interpret_opinion(
    clause: EnglishClause, words: tuple[ClauseToken, ...], _: UtteranceContext
) -> ClauseMeaning | None:
    positive = OPINIONS[clause.verb]
    if clause.tense == "would":
        return (
            _build_intent(words, "wants_to")
            if clause.infinitive and clause.verb in ("like", "love")
            else None
        )
    if clause.negated:
        positive = not positive
    if not is_concrete(words) or words[0].lower in (
        "how",
        "when",
        "that",
        "what",
        "seeing",
        "hearing",
        "having",
        "if",
    ):
        return None
    if words[0].lower in ("the", "his", "her", "its") and not _is_lasting(words):
        return None
    if clause.tense in ("past", "perfect", "was"):
        return ClauseMeaning(
            "enjoyed" if positive else "disliked",
            "event",
            words,
            polarity=True,
            confidence=0.6,
            event=True,
        )
    if clause.tense not in ("present", "been", "progressive", "used"):
        return None
    weak = any(
        adverb in ("kinda", "kind", "sort", "pretty", "lately", "recently", "currently")
        for adverb in clause.adverbs
    )
    if weak or clause.tense != "present":
        confidence = 0.6
    elif words[0].lower != "to":
        confidence = 0.85
    else:
        confidence = 0.8
    return ClauseMeaning(
        predicate="likes",
        category="preference",
        object=words,
        value="",
        effect="states",
        polarity=positive,
        confidence=confidence,
        importance=0.6,
        kind=Kind.PREFERENCE,
    )


def _is_lasting(words: tuple[ClauseToken, ...]) -> bool:
    """True for a lasting liking: ``the sea``, ``the Beatles``."""
    return (
        any(word.text[0].isupper() or word.lower == "of" for word in words[1:])
        or head_noun(words) in _GENERIC
    )


def _interpret_preference(
    clause: EnglishClause, words: tuple[ClauseToken, ...], _: UtteranceContext
) -> ClauseMeaning | None:
    if clause.tense not in ("present", "would", "past") or not is_concrete(words):
        return None
    return ClauseMeaning(
        "prefers",
        "preference",
        words,
        polarity=not clause.negated,
        confidence=0.9,
        importance=0.7,
        kind=Kind.PREFERENCE,
    )


def _interpret_dislike(
    clause: EnglishClause, words: tuple[ClauseToken, ...], _: UtteranceContext
) -> ClauseMeaning | None:
    if clause.tense == "can" and clause.negated and is_concrete(words):
        return ClauseMeaning(
            "likes",
            "preference",
            words,
            polarity=False,
            confidence=0.85,
            importance=0.6,
            kind=Kind.PREFERENCE,
        )
    return None


def _build_intent(words: tuple[ClauseToken, ...], predicate: str) -> ClauseMeaning | None:
    body = words[1:] if words and words[0].lower == "to" else words
    if len(body) > 1 and body[0].lower == "make" and body[1].lower in ("sure", "it", "that"):
        return None
    if (
        len(body) < 2
        or (
            body[0].lower in CHATTER
            and body[0].lower
            not in (
                "make",
                "find",
                "give",
                "get",
                "leave",
                "set",
                "put",
                "share",
                "help",
                "bring",
                "ensure",
            )
        )
        or not is_concrete(body[1:])
    ):
        return None
    return ClauseMeaning(
        predicate,
        "plan",
        body,
        confidence=0.7,
        importance=0.5,
        modality_wish=predicate in ("wants_to", "considers"),
    )


def _interpret_intent(
    clause: EnglishClause, words: tuple[ClauseToken, ...], _: UtteranceContext
) -> ClauseMeaning | None:
    if clause.tense == "would" or (clause.negated and clause.verb != "decide"):
        return None
    predicate = INTENDS[clause.verb]
    if clause.infinitive:
        if clause.verb in ("wish", "agree"):
            return None
        return _build_intent(words, predicate)
    if (
        clause.verb in ("plan", "think", "dream", "consider")
        and words
        and words[0].lower in ("on", "about", "of")
    ):
        return (
            _build_intent(words, "plans_to")
            if words[1:] and words[1].lower.endswith("ing")
            else None
        )
    if (
        clause.verb == "plan"
        and clause.tense in ("progressive", "been", "present")
        and is_concrete(words)
        and words[0].lower in ("a", "an", "our", "my", "the")
    ):
        return ClauseMeaning("planning", "plan", words, confidence=0.8)
    if clause.verb == "consider" and words and words[0].lower.endswith("ing"):
        return _build_intent(words, "considers")
    return None


def _interpret_possession(
    clause: EnglishClause, words: tuple[ClauseToken, ...], _: UtteranceContext
) -> ClauseMeaning | None:
    if (
        not is_concrete(words)
        or (head_noun(words) in VAGUE and not has_leading_content(words))
        or clause.tense not in ("present", "past", "perfect", "used")
    ):
        return None
    noun = head_noun(words)
    event = clause.tense != "present"
    family = noun in RELATIONS
    if event:
        return ClauseMeaning("had", "event", words, confidence=0.62, event=True)
    return ClauseMeaning(
        "has",
        "family" if family else "possession",
        words,
        confidence=0.85 if family else 0.72,
        importance=0.7 if family else 0.5,
    )


def _interpret_going(
    clause: EnglishClause, words: tuple[ClauseToken, ...], _: UtteranceContext
) -> ClauseMeaning | None:
    """Interpret ``I went camping``, ``I went to a concert``."""
    if not words or clause.tense not in ("past", "perfect", "present", "progressive"):
        return None
    if diet := life_events.interpret_diet(clause, words):
        return diet
    known = find_lemma(words[0].lower)
    if known and "ing" in known[1] and clause.tense != "progressive":
        name = "goes" if clause.tense == "present" else "went"
        return ClauseMeaning(
            f"{name}_{words[0].lower}",
            "activity" if name == "goes" else "event",
            words,
            confidence=0.85,
            event=name == "went",
        )
    while words and words[0].lower in ("out", "over", "back", "down", "up", "all", "together"):
        words = words[1:]
    if (
        len(words) > 1
        and words[0].lower in ("to", "on")
        and is_concrete(words[1:])
        and head_noun(words[1:]) not in VAGUE
    ):
        if clause.tense == "progressive":
            return ClauseMeaning("plans_to", "plan", words, confidence=0.7)
        name = "goes" if clause.tense == "present" else "went"
        return ClauseMeaning(
            f"{name}_{words[0].lower}",
            "activity" if name == "goes" else "event",
            words[1:],
            confidence=0.85,
            event=name == "went",
        )
    return None


_SPECIAL: dict[str, _Special] = {
    **dict.fromkeys(OPINIONS, _interpret_opinion),
    **dict.fromkeys(PREFERS, _interpret_preference),
    **dict.fromkeys(INTENDS, _interpret_intent),
    **dict.fromkeys(BEGINS, life_events.interpret_beginning),
    "stand": _interpret_dislike,
    "quit": life_events.interpret_job_loss,
    "lose": life_events.interpret_job_loss,
    "leave": life_events.interpret_job_loss,
    "get": life_events.interpret_getting,
    "land": life_events.interpret_beginning,
    "accept": life_events.interpret_beginning,
    "have": _interpret_possession,
    "go": _interpret_going,
    "turn": life_events.interpret_age_reached,
    "become": life_events.interpret_becoming,
    "break": life_events.interpret_breakup,
    "split": life_events.interpret_breakup,
    "switch": life_events.interpret_switch,
    "change": life_events.interpret_switch,
    **dict.fromkeys(
        ("move", "migrate", "replace", "ditch", "drop", "swap"), life_events.interpret_switch
    ),
    "retire": life_events.interpret_retirement,
    "join": life_events.interpret_joining,
    "think": _interpret_intent,
}
