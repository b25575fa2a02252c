"""Sentences of a project that hold for good by their mood, whatever they are about.

"retries only in the gateway", "we had two outages, so no more eager loading in lists", "wir loggen nie
personenbezogene Daten". Enter at ``find_standing_rule``. A clause of such a sentence speaks of all or
none, of what "we" do as a habit, of a kind of thing and its place, of a condition that comes true
often, or bans a kind of thing. No clause is tied to the moment ("again", "the second one", "until I
tell you"), reports a state or the past, or orders work on one thing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

from engrams.core import Kind
from engrams.extract.rules.conventions import is_technical
from engrams.extract.rules.english_lexicon import find_lemma
from engrams.text.late_patterns import late_pattern
from engrams.text.times import detect_language
from engrams.text.vocabulary import read_forms

_ENGLISH = "en"
_LONGEST = 180
_FEWEST_WORDS = 3
_LINES = read_forms(__file__, "standing")
_FORMS = {language: dict(lines) for language, lines in _LINES.items()}
_EN = _FORMS[_ENGLISH]


def _compile(pattern: str) -> re.Pattern[str]:
    return late_pattern(pattern, re.IGNORECASE)


def _compile_forms(kind: str) -> tuple[re.Pattern[str], ...]:
    return tuple(_compile(pattern) for form_kind, pattern in _LINES[_ENGLISH] if form_kind == kind)


_APOSTROPHE = re.compile(
    r"\b(?:(do|does|did|is|are|was|were|ca|wo|should|must|could|would|has|have|had)(nt)"
    r"|(i)(m|ve)|(that|let|it)(s)(?= (?:how|use|keep|go|stick|is|a|the)\b))\b",
    re.IGNORECASE,
)
_BOUNDARY = re.compile(
    r"[,;:]\s+|\s[-–—]\s|,?\s(?=(?:so|but|otherwise|deshalb|daher) )|\s(?=and (?:we|it|they)\b)"
)
_REASON = re.compile(
    r"(?:because|cause|cuz|'cause|since (?!the (?:last|deploy|update|upgrade|release|merge))"
    r"(?=they|it|we|the|our|you)|weil|da wir|porque|ya que|parce qu)"
)
_REASON_BEHIND = re.compile(rf"(?:^|,?\s){_REASON.pattern}\b.*", re.IGNORECASE)
_CONCLUSION = re.compile(r"(?:so|deshalb|daher|por eso|donc)\b(?! that\b)", re.IGNORECASE)
_JOINED = _compile(
    r"(?:(?:so|but|and|otherwise|also|pls|please|then|ok|okay|btw|by the way|hey|oh|well|fyi|note|reminder|remember"
    r"|heads up|no wait|no(?=,))\b[\s,:]+)+"
)
_ENDS = _compile(r"[\s.!]*(?:\b(?:please|pls|plz|thx|thanks|ok|okay)\b[\s.!]*)*$")

_PREFERENCE = _compile(_EN["$preference"])
_CUSTOM = _compile(r"that's how we\b.*")
_DECIDED = _compile(_EN["$decided"])
_STRONG = _compile_forms("strong")
"""Clauses that hold for good whatever stands beside them."""
_WEAK = _compile_forms("weak")
"""Clauses that hold for good if nothing beside them speaks of the moment."""
_CONDITION = _compile(_EN["$condition"])
_BAN_OF_ONE = _compile(_EN["$banofone"])
_LASTING_REASON = _compile(
    r"(?:it|they|it's|they're|we|that)\b(?: is| are| gets?)?(?: \w+ly)? \w+(?:ed|en|wn|lt|pt)\b.*"
)
_BAN = _compile(
    r"(?:don't|do not|never|avoid|no|nothing|nobody|no one|none|zero)\b.*|we (?:don't|do not|never) .*"
)
_SPLIT_BY_PLACE = _compile(_EN["$splitbyplace"])
_BOTH_PLACES = _compile(_EN["$bothplaces"])
_KIND_OF_THING = _compile(_EN["$kindofthing"])
_ORDER = _compile(rf"{_EN['$order']}.*")
_ORDER_OF_ONE = _compile(
    rf"^{_EN['$order']}\b.*\b(?:the|my) \w+\b.*\b(?:it|them)$|^{_EN['$order']} (?:it|them)\b"
)
"""Order about one thing that it names again: "make sure the migration is reversible before you run it"."""
_NO_BAN = _compile(rf"(?:don't|do not|never) {_EN['$unasked']} (?:with|about|the|that|it)\b")
"""Comfort, which bans nothing: "don't bother with the old tests"."""
_MANNER = _compile(r"(?:use|keep|prefer|ask|leave|follow|treat|stick|edit)\b.*")
_PER = re.compile(r"\bper\b", re.IGNORECASE)
"""Word of Italian that English has too: "max 8 hooks per component"."""
_INSTEAD = _compile(r"(?:import|inject|extend|compose|derive|rely|reach|go through)\b.*")
"""Order that says what to do in place of what is banned: "no barrel files, import from the module"."""
_NOUN_FIRST = _compile(
    r"\w+ (?:=|[\w-]+s(?:$| (?:is|are|gets?|go|goes|have|has|must|should|needs?|follow|start|end|live|only|always|never)\b))"
)
"""Noun that an order may begin with, too: "release branches get cut", "commit messages"."""
_POINTED_BEYOND = _compile(r"\b(?:the|this|that|these|those|my|your|her|his)\b")
"""Words for a thing that the sentence has not named."""
_CODE = re.compile(r"\S*[@/_`.]\S+")
_POINTED = _compile(rf"\b{_EN['$definite']}\b")
_MOMENT = _compile(_EN["$moment"])
_SPEAKER = _compile(_EN["$speaker"])
_REPORT = _compile(_EN["$report"])
_DIGIT = re.compile(r"\d|\b(?:two|three|four|five|some|few|many)\b", re.IGNORECASE)
_PRONOUN = re.compile(r"(?:i|we|you|he|she|they|it|that|who|someone|somebody)", re.IGNORECASE)
_ONWARDS = _compile(rf"\b{_EN['$onwards']}\b[,:]?\s*")
_SINCE_WHEN = _compile(r"\b(?:now|today|yesterday|already|last \w+)\b")
_POLITE = _compile(r"\W*(?:por favor|s'il (?:te|vous) plaît|per favore|bitte(?=,))\b[\s,]*")
_OBLIGES = _compile(r"\b(?:immer|stets|nur|siempre|toujours|sempre)\b")
_UNTIL = _compile(r"\b(?:before|until|when|unless) (?:you|it|they|the|an?)\b[^,;]*")
"""Conditions, which tell no state of the moment."""


class StandingRule(NamedTuple):
    """Rule and the part of its sentence that says it."""

    kind: Kind
    start: int
    end: int


class _SentenceClause(NamedTuple):
    text: str
    """Words of the clause, lower case, without what joins it to the one before."""
    start: int
    end: int
    mark: str
    """Mark or word between it and the next one."""
    is_conclusion: bool


def find_standing_rule(sentence: str) -> StandingRule | None:
    """Find what holds for good in a sentence that was said in a project; None: nothing does."""
    if "?" in sentence or not 8 < len(sentence) <= _LONGEST:
        return None
    language = _find_language(sentence)
    if language != _ENGLISH:
        return _find_foreign(sentence, _FORMS[language])
    clauses = _read_clauses(sentence)
    verdicts = _judge(clauses)
    if "passing" not in verdicts:
        return _build(clauses) if {"holds", "strong"}.intersection(verdicts) else None
    for run in _split_runs(clauses, verdicts):
        if run[0][1] == "strong":
            return _build([clause for clause, _ in run])
    return None


def _find_language(sentence: str) -> str:
    """Find the language whose forms are to be read; words of code hide it, such as "docs in main"."""
    detected = detect_language(_PER.sub("", sentence))
    if detected in _FORMS and detected != _ENGLISH:
        return detected
    lower = sentence.lower()
    foreign = (language for language in _FORMS if language != _ENGLISH)
    return next(
        (language for language in foreign if re.search(_FORMS[language]["$sure"], lower)), _ENGLISH
    )


def tells_moment(text: str, *, is_choice: bool = False) -> bool:
    """True for English words that tie a text to the moment, or tell a state that passes.

    ``is_choice``: it tells what was chosen, and since when: "we gave up on Jest, it's Vitest now".
    """
    general = _ONWARDS.sub("", _REASON_BEHIND.sub("", _normalize(text)))
    if _ORDER_OF_ONE.match(general) or _NO_BAN.match(general) or _tells_never_yet(general):
        return True
    plain = _CODE.sub("", _UNTIL.sub("", general))
    if is_choice:
        plain = _SINCE_WHEN.sub("", plain)
    return _MOMENT.search(plain) is not None or _REPORT.search(plain) is not None


def bans(sentence: str) -> bool:
    """True for a sentence that forbids: "no barrel files", "nie direkt auf main"."""
    language = _find_language(sentence)
    if language == _ENGLISH:
        clauses = _read_clauses(sentence)
        return bool(clauses) and _BAN.fullmatch(clauses[0].text) is not None
    return _opens_with_ban(sentence.lower(), _FORMS[language])


def gives_past_reason(sentence: str) -> bool:
    """True for an English sentence that tells what came of something: "it took production down in March"."""
    first, _, following = _normalize(sentence).partition(" ")
    return _is_past(first, following.partition(" ")[0])


def _build(clauses: Sequence[_SentenceClause]) -> StandingRule | None:
    if sum(len(clause.text.split()) for clause in clauses) < _FEWEST_WORDS:
        return None
    is_ban = _BAN.fullmatch(clauses[0].text) is not None
    return StandingRule(Kind.NEGATIVE if is_ban else Kind.RULE, clauses[0].start, clauses[-1].end)


def _read_clauses(sentence: str) -> list[_SentenceClause]:
    """Split a sentence into clauses; reasons are left out."""
    clauses: list[_SentenceClause] = []
    at = 0
    for match in [*_BOUNDARY.finditer(sentence), None]:
        end = match.start() if match else len(sentence)
        text = sentence[at:end]
        joined = _JOINED.match(text)
        is_conclusion = _CONCLUSION.match(text) is not None
        words = _normalize(_REASON_BEHIND.sub("", text[joined.end() :] if joined else text))
        mark = match[0].strip() if match else ""
        clauses.append(_SentenceClause(words, at, end, mark, is_conclusion))
        at = match.end() if match else end
    return [clause for clause in clauses if clause.text]


def _normalize(text: str) -> str:
    lower = _ENDS.sub("", text.replace("’", "'")).lower().strip(" ()\"'")
    return _APOSTROPHE.sub(_write_apostrophe, " ".join(lower.split()))


def _write_apostrophe(match: re.Match[str]) -> str:
    word, ending = (group for group in match.groups() if group)
    return f"{word}n't" if ending == "nt" else f"{word}'{ending}"


def _judge(clauses: Sequence[_SentenceClause]) -> list[str]:
    """Judge each clause: ``strong``, ``holds``, ``passing`` or nothing."""
    verdicts: list[str] = []
    is_custom = any(_CUSTOM.fullmatch(clause.text) for clause in clauses)
    for index, clause in enumerate(clauses):
        following = clauses[index + 1] if index + 1 < len(clauses) else None
        verdict = _judge_clause(clause.text)
        before = clauses[index - 1].text if index and clause.is_conclusion else ""
        if before and _is_order(before, is_rest=False):
            verdict = "passing"  # The purpose of an order: "change it so every row has a key".
        if not verdict:
            verdict = _judge_by_next(clause, following)
        if is_custom and not (verdict == "passing" and _MOMENT.search(clause.text)):
            verdict = "holds"
        is_rest = "holds" in verdicts or "strong" in verdicts
        is_instead = is_rest and _INSTEAD.fullmatch(clause.text)
        if not verdict and not is_instead and _is_order(clause.text, is_rest=is_rest):
            verdict = "passing"
        is_reason = following is not None and following.is_conclusion
        verdicts.append("" if verdict == "passing" and is_reason else verdict)
    return verdicts


def _judge_clause(text: str) -> str:
    if match := _PREFERENCE.fullmatch(text):
        wish = match["rest"] or match["preferred"]
        before_that = re.split(r" (?:that|which) ", wish)[0]
        is_general = not _MOMENT.search(wish) and not re.search(r"\b(?:the|this|my)\b", before_that)
        return "holds" if is_general else "passing"
    if _CUSTOM.fullmatch(text):
        return "holds"
    opening = _ONWARDS.match(text)
    if opening and opening.end() < len(text):
        return "strong" if not _MOMENT.search(text, opening.end()) else "passing"
    if _DECIDED.fullmatch(text):
        return "holds"
    is_past = any(_is_past(before, word) for before, word in pairwise(text.split()))
    plain = _CODE.sub("", text)
    if is_past or any(pattern.search(plain) for pattern in (_MOMENT, _SPEAKER, _REPORT)):
        return "passing"
    if any(pattern.fullmatch(text) for pattern in _STRONG):
        return "strong"
    if _is_order(text, is_rest=False):
        return ""
    condition = _CONDITION.fullmatch(text)
    if condition and (condition["kind"] is None or is_technical(condition["kind"])):
        return "holds"
    is_weak = any(pattern.fullmatch(text) for pattern in (*_WEAK, _BOTH_PLACES))
    return "holds" if is_weak else ""


def _judge_by_next(clause: _SentenceClause, following: _SentenceClause | None) -> str:
    """Judge a clause that the next one makes general: a reason, a list, a label, the other half."""
    if following is None:
        return ""
    if _BAN_OF_ONE.fullmatch(clause.text):
        is_lasting = _LASTING_REASON.fullmatch(following.text) and not _REPORT.search(
            following.text
        )
        return "holds" if is_lasting else ""
    halves = (clause.text, following.text)
    if all(_SPLIT_BY_PLACE.fullmatch(half) for half in halves):
        return "" if any(map(_DIGIT.search, halves)) else "holds"
    if clause.mark == ":":
        is_label = _KIND_OF_THING.fullmatch(clause.text) and is_technical(clause.text)
        return "holds" if is_label and not _is_order(following.text, is_rest=False) else ""
    if re.match(rf"no (?!{_EN['$nothing']})(?!{_EN['$definite']}\b)", clause.text):
        is_way = not _POINTED.search(following.text.split(" with ")[0]) or any(
            pattern.fullmatch(following.text) for pattern in (_MANNER, _INSTEAD)
        )
        return "holds" if is_way and not _REPORT.search(following.text) else ""
    return ""


def _tells_never_yet(text: str) -> bool:
    """True for what has not happened so far: "never seen that error before"."""
    opening, _, following = text.partition(" ")
    lemma = find_lemma(following.split(" ")[0])
    return opening == "never" and lemma is not None and {"base", "part"} & lemma.forms == {"part"}


def _is_order(text: str, *, is_rest: bool) -> bool:
    """True for work on one thing. ``is_rest``: a clause before it holds for good."""
    if not _ORDER.fullmatch(text) or _NOUN_FIRST.match(text):
        return False
    if is_rest:
        return _POINTED_BEYOND.search(text) is not None
    return _POINTED.search(text) is not None or _MANNER.fullmatch(text) is None


def _is_past(before: str, word: str) -> bool:
    """True for a verb in the past behind its pronoun: "we moved"."""
    lemma = find_lemma(word.strip(".,"))
    return (
        _PRONOUN.fullmatch(before) is not None
        and lemma is not None
        and "past" in lemma.forms
        and "base" not in lemma.forms
    )


def _split_runs(
    clauses: Sequence[_SentenceClause], verdicts: Sequence[str]
) -> Iterator[list[tuple[_SentenceClause, str]]]:
    """Yield the clauses between those that pass."""
    pairs = [*zip(clauses, verdicts, strict=True)]
    while pairs:
        run = [*takewhile(lambda pair: pair[1] != "passing", pairs)]
        if run:
            yield run
        pairs = pairs[len(run) + 1 :]


def _find_foreign(sentence: str, forms: dict[str, str]) -> StandingRule | None:
    """Find a rule in a sentence of another language, as a whole."""
    text = sentence.lower()
    plain = _REASON_BEHIND.sub("", text)
    opening = re.match(rf"\W*{forms['$onwards']}\b", plain)
    statement = plain[opening.end() :] if opening else plain
    if re.search(forms["$moment"], statement) or re.search(forms["$report"], statement):
        return None
    if len(statement.split()) < _FEWEST_WORDS:
        return None
    is_ban = _forbids(plain, forms)
    is_habit = re.search(rf"\b{forms['$group']}\b", statement) and re.search(
        rf"\b{forms['$mark']}\b", statement
    )
    if opening or is_ban or is_habit or re.search(rf"\b{forms['$place']}", statement):
        kind = Kind.NEGATIVE if _opens_with_ban(statement, forms) else Kind.RULE
        return StandingRule(kind, 0, len(sentence))
    return None


def _forbids(text: str, forms: dict[str, str]) -> bool:
    """True for words by which a foreign sentence obliges or forbids for good."""
    return any(re.match(forms["$ban"], clause) for clause in _BOUNDARY.split(text))


def _opens_with_ban(text: str, forms: dict[str, str]) -> bool:
    """True for a foreign sentence that forbids first of all: "wir nutzen yarn, nie npm" does not."""
    clauses = _BOUNDARY.split(_POLITE.sub("", text))
    ban = re.match(forms["$ban"], clauses[0])
    return ban is not None and _OBLIGES.search(ban[0]) is None
