"""Facts about things, and corrections that say the whole anew."""

from __future__ import annotations

import re

from engrams.core import Kind
from engrams.extract.candidate import CandidateStatement
from engrams.extract.predicate_slots import canonical_predicate
from engrams.extract.rules.clause_quote import collapse_space, trim_quote
from engrams.extract.rules.fact_gate import is_sound
from engrams.extract.rules.sentence_segmenter import TextSentence
from engrams.extract.rules.utterance import UtteranceContext
from engrams.frozen_data import replace
from engrams.text.vocabulary import word_set

_LONGEST = 200
"""Characters of the longest sentence that is looked at."""
_OPENING = re.compile(
    r"\W*(?:(?:oh|hmm|ah|well|but|and)\b[\s,.!–-]*)*"
    r"(?:(?:oops|sorry|wait|my bad|my mistake|correction|no|nope|nah|not quite|actually|scratch"
    r" that"
    r"|(?:that|this|it)(?:'s| is| was)(?: all)? (?:wrong|not right|not true|incorrect|not"
    r" correct|false|a mistake|outdated)"
    r"|(?:i was|i'm|i am|you're|you are|you were) (?:wrong|mistaken)(?: (?:there|about"
    r" that|before))?|i meant(?: that)?|i misspoke"
    r"|nein|falsch|korrektur|das (?:ist falsch|stimmt nicht|war falsch)|eigentlich|doch|ich meinte"
    r"|eso (?:est[aá] mal|no es as[ií])|en realidad|correcci[oó]n|non|c'est faux|en"
    r" fait)(?![\w'])[\s,:;.!–-]*)+",
    re.IGNORECASE,
)
_ARTICLE = r"(?P<article>the|our|my|this|der|die|das|unser\w*|mein\w*|el|la|los|las|mi|nuestr\w+|le|les|mon|ma|notre)"
_NAME = r"(?P<thing>[^\W_](?:[\w/'&+ -]|\.(?=\w)){1,50}?)"
_VERB = (
    r"(?:is|are|runs|run|listens|lives|sits|stands|lies|uses|has|costs|points|starts|begins|opens|ends|meets"
    r"|ist|sind|läuft|lauscht|liegt|steht|nutzt|hat|es|está|corre|usa|est|tourne|utilise)"
)
_SLOT = r"(?P<slot>port|version|branch|host|room|floor|gate|platform|channel|extension|puerto|raum|salle|sala)"
_SLOTS = {"puerto": "port", "raum": "room", "salle": "room", "sala": "room"}
_NUMBER = r"(?:number |no\.? ?|nr\.? ?|#)?(?P<value>v?\d[\w.:/-]{0,30}(?<![.:/-]))"
_REST = (
    r"(?:,? (?:and )?(?:not|nicht|no|pas|rather than|instead of) (?P<wrong>[^,.;!?]{1,60}?))?(?:"
    r" now| again| jetzt)?[\s.!]*"
)
_PLACED = re.compile(
    rf"(?:{_ARTICLE} )?{_NAME} (?:(?P<moved>(?:has |was |is )?(?:moved|switched|changed) (?:over"
    rf" )?to)|{_VERB}(?: now| currently| jetzt)?"
    r"(?: running| listening| reachable)?(?: (?:on|at|in|under|auf|in|unter|en|sur|dans|to))?)"
    rf" (?:the )?{_SLOT} {_NUMBER}{_REST}",
    re.IGNORECASE,
)
_HELD = re.compile(
    rf"the {_SLOT} (?:of|for) (?:{_ARTICLE} )?{_NAME} (?:is|has changed to|changed to)(?: now)?"
    rf" {_NUMBER}{_REST}",
    re.IGNORECASE,
)
_WHOLE = re.compile(
    rf"{_ARTICLE} {_NAME} (?P<verb>{_VERB}(?: (?:on|at|in|under|to|auf|unter|en|sur|dans))?)"
    rf" (?P<value>[^,;!?\n]{{1,80}}?){_REST}",
    re.IGNORECASE,
)
_CLAUSE = word_set("""
    it he she they this that these those there everything something which what who i we you one is are was were has have and but or if when
    because than und aber oder dass wenn y pero et mais que
    """)
_MOST_WORDS = 5
_MINE = ("my", "our", "mi", "mis", "mon", "ma", "notre", "mein", "unser", "nuestr")


def extract_thing(
    sentence: TextSentence, text: str, speech: UtteranceContext, begin: int, has_triple: bool
) -> CandidateStatement | None:
    """Extract a thing's numbered place, or a correction about it.

    "The staging DB is on port 5433"; after words that something was wrong any value: "no, that's
    wrong: the logo is in docs/". ``begin``: where the text says something. ``has_triple``: other rules
    read the sentence, so that only numbered places count.
    """
    skipped = max(0, begin - sentence.start)
    if len(sentence.text) - skipped > _LONGEST:
        return None
    said = sentence.text[skipped:]
    opened = _OPENING.match(said)
    piece = said[opened.end() if opened else 0 :].strip()
    found = (
        (_PLACED.fullmatch(piece) or _HELD.fullmatch(piece))
        if any(map(str.isdigit, piece))
        else None
    )
    if found is None and opened and not has_triple:
        found = _WHOLE.fullmatch(piece)
    if found is None or not _is_thing(found["thing"]):
        return None
    made = _to_candidate(found, piece, speech, corrects=opened is not None)
    made = replace(
        made,
        evidence=(
            speech.evidence(text[sentence.start + skipped : sentence.start + len(sentence.text)]),
        ),
    )
    return made if is_sound(replace(made, kind=Kind.FACT)) else None


def split_thing(line: str, speech: UtteranceContext) -> tuple[str, str, str]:
    """Split a sentence about a thing into its triple; else empty."""
    found = _WHOLE.fullmatch(line)
    if found is None or not _is_thing(found["thing"]):
        return "", "", ""
    return _name_subject(found, speech), _name_predicate(found), found["value"].strip()


def _to_candidate(
    found: re.Match[str], piece: str, speech: UtteranceContext, *, corrects: bool
) -> CandidateStatement:
    parts = found.groupdict()
    wrong = (parts["wrong"] or "").strip()
    corrects = corrects or bool(wrong)
    return CandidateStatement(
        text=trim_quote(collapse_space(piece)),
        kind=Kind.CORRECTION if corrects else Kind.FACT,
        subject=_name_subject(found, speech),
        predicate=_name_predicate(found),
        object=found["value"].strip(),
        effect="corrects" if corrects else "changes" if parts.get("moved") else "states",
        single=True,
        wrong_value=wrong,
        confidence=0.85,
        importance=0.7,
        trust=speech.trust,
        said_at=speech.said_at,
        effective_at=speech.said_at,
        reason="rule thing",
    )


def _is_thing(name: str) -> bool:
    """True for a noun, not for a pronoun or a clause."""
    words = name.lower().split()
    return len(words) <= _MOST_WORDS and _CLAUSE.isdisjoint(words)


def _name_predicate(found: re.Match[str]) -> str:
    parts = found.groupdict()
    return canonical_predicate(
        _SLOTS.get(slot, slot) if (slot := (parts.get("slot") or "").lower()) else parts["verb"]
    )


def _name_subject(found: re.Match[str], speech: UtteranceContext) -> str:
    article = (found["article"] or "").lower()
    name = " ".join(found["thing"].lower().split())
    owner = speech.group if article == "our" else speech.subject
    return f"{owner}'s {name}" if article.startswith(_MINE) else name
