"""Tell from the words around a time whether it is over or still to come.

Enter it by ``find_outlook``.
"""

from __future__ import annotations

import re

from engrams.extract.rules.english_lexicon import ADVERBS, DETERMINERS, VerbReading, find_lemma
from engrams.extract.rules.foreign_outlook import Outlook, find_foreign_outlook
from engrams.frozen_data import dataclass
from engrams.text.vocabulary import word_set

_MOST_BEFORE = 240
_MOST_AFTER = 160
"""Characters around a time among which its verb is looked for."""
_TOKEN = re.compile(r"n't\b|'(?:m|s|ve|re|d|ll)\b|[a-z]+?(?=n't)|[a-z]+|\d[\w.:/]*|[^\w\s]")
_QUOTED = re.compile(r"[\"“][^\"“”\n]{1,80}[\"”]")
_SENTENCE = re.compile(
    r"[!?;\n]|\.(?=\s|\Z)(?<!\b[ap]\.m\.)(?<!\b(?:St|Dr|Mr|Ms|vs|No)\.)(?<!\bMrs\.)"
)
_BREAK = re.compile(
    r"[,:()–—]|\s(?:but|so|because|while|when|although|though|if|then|whereas|since)\s"
    r"|\sthat\s(?=(?:my|the|our|his|her|their|its|i|we|he|she|it|they|this)\b)"
)
_BREAK_AFTER = re.compile(rf"{_BREAK.pattern}|\sand\s")
_OWN_SUBJECT = re.compile(r"\s*(?:i|we|you|he|she|they|it)\b")
_JOINED = re.compile(r"\band\s+(?:(?:on|in|at|by)\s+)?(?:the\s+)?\Z")
_BEGINS = re.compile(
    r"\b(?:starting|beginning|ending|expiring|commencing|effective|(?<!was )(?<!were )due|slated"
    r"|(?:postponed|pushed|moved|extended|delayed|rescheduled|deferred|shifted|brought)"
    r"(?:\s+(?:back|forward|out))?\s+(?:to|until|till))"
    r"\s+(?:(?:on|in|from|by|at|for)\s+)?(?:the\s+)?\Z"
)
_PREPOSITION = re.compile(r"\b(on|in|at|for|to|until|till|by|from|before|after)\s+(?:the\s+)?\Z")

_FUTURE = word_set("will shall wo gonna 'll upcoming")
_BEFORE_WILL = word_set("free good ill own strong a the my his her their our and")
_MODALS = word_set("can ca could may might must should would need let")
_PRESENT_BE = word_set("is are am 'm 're")
_AUXILIARIES = _PRESENT_BE | word_set("'s was were been be have has 've having had did do does get")
_SKIPPED = ADVERBS | word_set(
    "not n't i we you he she they it just already also so really finally getting being"
)
_PRONOUNS = word_set("i we you they he she it who that there which what everyone somebody")
_GOVERNING = word_set("for to until till by")
_PLANS = word_set(
    "schedule book reserve invite plan arrange enroll enrol register set confirm expect promise"
    " agree decide choose fix sign slate pencil"
)
_POSTPONES = word_set("reschedule extend postpone postpon delay defer push shift move change")
_AFTER = word_set("after following since")
_TELLS = word_set(
    "said told heard noticed learned learnt thought mentioned announced realized knew"
)
_WANTS = word_set("want hope need wish aim intend mean plan invite ask expect gonna have")
_STARTED = word_set("ends expires finishes starts begins")
_NOUNS = word_set(
    "call visit plan work run talk walk show drink play test trip drive ride need look meet set"
    " meeting training wedding building morning evening painting hearing sign book order"
    " offer report change time class name like run mark place date train party part point"
)
_EVENTS = word_set(
    "appointment exam interview flight surgery meeting deadline launch wedding concert party trip"
    " test hearing scan mri checkup operation call session visit vacation holiday conference"
    " presentation workshop dinner lunch date reservation booking ticket tickets offer game match"
    " sessions meetings exams interviews appointments flights"
)
_HAVE_TO = ["got", "to"]
_PERFECT = word_set("have has 've having")


@dataclass(frozen=True, slots=True)
class TimePosition:
    """Position of a time in its clause."""

    text: str
    start: int
    """Position at which the clause begins."""
    end: int
    """Position after its last character."""
    time_start: int
    time_end: int


def find_outlook(position: TimePosition, language: str, tense: str, verb: str) -> Outlook:
    """Find the outlook of a time.

    ``tense`` and ``verb`` are those of the clause's main verb where a parser read them, else
    empty; words nearer to the time count more.
    """
    before, after = _cut_sentence(position)
    if language != "en":
        return find_foreign_outlook(before, after, language)
    outlook = _read_english(before.lower(), after.lower(), verb, tense)
    if outlook == "open":
        return _of_tense(tense)
    return outlook


def names_event(text: str) -> bool:
    """True if the text names something that takes place on a day: an exam, a flight."""
    return not _EVENTS.isdisjoint(_TOKEN.findall(text.lower()))


def _cut_sentence(position: TimePosition) -> tuple[str, str]:
    """Cut out what the sentence of a time says before it and after it."""
    first = max(position.start, position.time_start - _MOST_BEFORE)
    last = min(position.end, position.time_end + _MOST_AFTER)
    before = _QUOTED.sub(" ", position.text[first : position.time_start]).replace("’", "'")
    after = _QUOTED.sub(" ", position.text[position.time_end : last]).replace("’", "'")
    opened = max((match.end() for match in _SENTENCE.finditer(before)), default=0)
    closed = _SENTENCE.search(after)
    return before[opened:], after[: closed.start()] if closed else after


def _of_tense(tense: str) -> Outlook:
    if tense in ("past", "perfect", "used", "was", "been"):
        return "over"
    if tense == "future":
        return "coming"
    return "present" if tense in ("present", "progressive", "must", "can") else "open"


def _read_english(before: str, after: str, verb: str, tense: str) -> Outlook:
    """Read the nearest verb: in the time's own part of the sentence, then beyond its commas."""
    if _BEGINS.search(before):
        return "coming"
    preposition = _PREPOSITION.search(before)
    reader = _VerbNearTime(preposition[1] if preposition else "", verb, tense)
    part_start = max((match.end() for match in _BREAK.finditer(before)), default=0)
    joined = _JOINED.search(before)
    part_end = _BREAK_AFTER.search(after)
    own_after = after[: part_end.start()] if part_end else after
    if joined and _OWN_SUBJECT.match(own_after):
        part_start = max(part_start, joined.start())
    for outlook in (
        reader.read_back(before[part_start:]),
        reader.read_on(own_after),
        reader.read_back(before[:part_start]),
        reader.read_on(after[len(own_after) :]),
    ):
        if outlook != "open":
            return outlook
    return "coming" if reader.preposition == "for" else "open"


@dataclass(frozen=True, slots=True)
class _VerbNearTime:
    """Reads the verb that a time belongs to."""

    preposition: str
    """Preposition in front of the time."""
    verb: str
    tense: str

    def read_back(self, text: str) -> Outlook:
        """Read from the time back to the nearest verb that tells."""
        words = _TOKEN.findall(text)
        is_infinitive = False
        is_after = False
        tentative: Outlook = "open"
        for index in range(len(words) - 1, -1, -1):
            if words[index] == "to":
                lemma = find_lemma(words[index + 1]) if index + 1 < len(words) else None
                is_infinitive = lemma is not None and "base" in lemma.forms
                continue
            is_after = is_after or words[index] in _AFTER
            outlook = self._read_word(words, index, is_infinitive)
            if outlook == "open":
                continue
            if is_after and outlook in ("planned", "coming") and _is_past(words[index]):
                return "over"  # "I decided to stop after our talk on 8 May"
            if outlook == "present" and words[index] not in _AUXILIARIES | _MODALS:
                lemma = find_lemma(words[index])
                is_noun = lemma is not None and lemma.base in _NOUNS
                is_plain = words[index - 1] not in _PRONOUNS if index else True
                if is_noun and is_plain:
                    tentative = tentative if tentative != "open" else outlook
                    continue
            return self._govern(outlook)
        return tentative

    def read_on(self, text: str) -> Outlook:
        """Read from the time on to the first verb that tells."""
        words = _TOKEN.findall(text)
        for index in range(len(words)):
            outlook = self._read_word(words, index, False)
            if outlook == "present" and words[index] in _PERFECT | {"'s"}:
                following = [find_lemma(word) for word in words[index + 1 : index + 4]]
                if any(lemma and "part" in lemma.forms for lemma in following):
                    return "over"
            if outlook != "open":
                return outlook
        return "open"

    def _govern(self, outlook: Outlook) -> Outlook:
        """Let "for" in front of a day make a plan of what was done."""
        if self.preposition == "for" and outlook == "over":
            return "planned"
        if self.preposition in ("for", "by") and outlook == "present":
            return "coming"
        return outlook

    def _read_word(self, words: list[str], index: int, is_infinitive: bool) -> Outlook:
        word = words[index]
        if word in _FUTURE:
            is_noun = word == "will" and index > 0 and words[index - 1] in _BEFORE_WILL
            return "open" if is_noun else "coming"
        if word in _MODALS:
            return "present"
        if word == "'d":
            return _read_would(words, index)
        if word in ("was", "were") and not _TELLS.isdisjoint(words[:index]):
            return "unclear"  # "he said that it was on Friday"
        if word in ("did", "had", "was", "were"):
            return "over"
        if word in _TELLS and "that" in words[index + 1 : index + 4]:
            return "unclear"
        if word in _PRESENT_BE or (word == "'s" and _is_verb_s(words, index)):
            return "over" if self.preposition == "from" else "present"
        if word in ("have", "has", "'ve"):
            must = (
                words[index + 1 : index + 2] == ["to"] or words[index + 1 : index + 3] == _HAVE_TO
            )
            return "coming" if must else "present"
        if word in ("do", "does"):
            return "present"
        if word in _STARTED:
            return "present"
        lemma = find_lemma(word)
        if lemma is None:
            return "open"
        return self._read_verb(words, index, lemma, is_infinitive)

    def _read_verb(
        self, words: list[str], index: int, lemma: VerbReading, is_infinitive: bool
    ) -> Outlook:
        base, forms = lemma
        auxiliary = _find_auxiliary(words, index)
        if base in _POSTPONES and self.preposition in ("to", "until", "till"):
            return "over" if base in ("move", "change") else "coming"
        if base in _PLANS and not forms.isdisjoint(("past", "part")):
            return self._read_plan(auxiliary, is_infinitive)
        if is_infinitive and base in _WANTS and base != "have":
            return "coming"
        if "ing" in forms:
            return _read_gerund(words, index, base, auxiliary)
        if not forms.isdisjoint(("past", "part")) and forms.isdisjoint(("base", "s")):
            return _read_participle(words, index, forms, auxiliary)
        if auxiliary in _PERFECT and "part" in forms:
            return "over"
        previous = words[index - 1] if index else ""
        if "past" in forms and "base" in forms:  # put, read, set
            if base == self.verb:
                return _of_tense(self.tense)
            return "over" if previous in ("he", "she", "it") else "unclear"
        if previous in _PRONOUNS or previous in ADVERBS or (previous == "and" and "base" in forms):
            return "present"
        if "s" in forms and previous not in DETERMINERS:
            return "present"
        return "open"

    def _read_plan(self, auxiliary: str, is_infinitive: bool) -> Outlook:
        if auxiliary == "had":
            return "over"
        is_set = self.preposition in _GOVERNING or auxiliary in _PRESENT_BE or is_infinitive
        return "coming" if is_set else "planned"


def _is_past(word: str) -> bool:
    lemma = find_lemma(word)
    return lemma is not None and "past" in lemma.forms


def _find_auxiliary(words: list[str], index: int) -> str:
    for position in range(index - 1, max(-1, index - 6), -1):
        word = words[position]
        if word in _AUXILIARIES:
            return word
        if word not in _SKIPPED:
            return ""
    return ""


def _read_would(words: list[str], index: int) -> Outlook:
    """Read 'd: "she'd come" is still to come, "she'd been" is over."""
    following = words[index + 1 : index + 4]
    if not {"like", "love", "prefer", "rather"}.isdisjoint(following):
        return "coming"
    lemmas = [find_lemma(word) for word in following]
    forms = next((lemma.forms for lemma in lemmas if lemma), frozenset())
    return "planned" if not forms or "base" in forms else "over"


def _is_verb_s(words: list[str], index: int) -> bool:
    """True if 's is a verb: "she's", "the exam's on"; not "Ana's car"."""
    if index and words[index - 1] in _PRONOUNS:
        return True
    following = words[index + 1] if index + 1 < len(words) else ""
    return not following or following in DETERMINERS | {"on", "at", "in", "not", "going"}


def _read_gerund(words: list[str], index: int, base: str, auxiliary: str) -> Outlook:
    if auxiliary in _PRESENT_BE | {"'s"}:
        return "coming" if base in ("plan", "schedule", "book", "go") else "present"
    if auxiliary in ("was", "were", "been"):
        return "over"
    if not index:
        return "present"  # "presenting on Thursday"
    previous = words[index - 1]
    return "over" if previous in ("after", "since", "upon", "following", "for") else "open"


def _read_participle(
    words: list[str], index: int, forms: frozenset[str], auxiliary: str
) -> Outlook:
    word = words[index]
    following = words[index + 1 :]
    if word in ("supposed", "meant") and following[:1] == ["to"]:
        return "planned"
    if auxiliary in _PERFECT | {"'s"} and "part" in forms:
        return "present" if word == "got" else "over"
    if auxiliary in _PRESENT_BE:
        return "present"
    if auxiliary in ("been", "was", "were", "had"):
        return "over"
    if auxiliary in ("be", "get"):
        return "open"
    if word == "got" and not _EVENTS.isdisjoint(following):
        return "planned"
    if "past" not in forms or following[:1] == ["by"]:
        return "open"
    previous = words[index - 1] if index else ""
    is_adjective = previous in DETERMINERS and previous not in ("this", "that", "these", "those")
    return "open" if is_adjective else "over"
