"""Evidence that a clause of a newer message replaces one of an older.

Enter at ``shows_replacement`` and ``shows_common_ground``. Two long messages of one person share
words, numbers and words of change by chance, and so do any two of many: their likeness alone is no
reason for a mark. The words must stand together in one clause of each.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from functools import cache
from itertools import chain, dropwhile, takewhile

from engrams.text.clause_kinds import may_tell_change, tells_past_event
from engrams.text.clause_split import split_clauses
from engrams.text.comparison.language_tables import detect_language
from engrams.text.late_patterns import late_pattern
from engrams.text.normalize import fold
from engrams.text.said_again import says_again
from engrams.text.stopwords import STOP
from engrams.text.terms import terms, tokens
from engrams.text.text_caches import text_cache
from engrams.text.vocabulary import read_vocabulary, word_pattern
from engrams.write.change_detection.cue_words import NAMES, TOPIC_NAMES, find_cue_words
from engrams.write.change_detection.features import (
    MessageClause,
    MessageFeatures,
    read_clause,
    read_values,
)
from engrams.write.change_detection.typed_values import (
    are_misspelt,
    compare_typed_values,
    read_typed_values,
)

_ENDS = tuple(map(NAMES.index, ("no_more", "end", "switch", "instead")))
_CORRECTED_WITHIN = 60
"""Minutes within which a slip of the keys is put right."""
_CHANGES = (*_ENDS, *map(NAMES.index, ("from_now", "finally", "back")))
_DAY = 24 * 60
_CORRECTION = NAMES.index("correction")
_CHANGE_CUES = tuple(
    map(
        NAMES.index,
        (
            "no_more",
            "end",
            "begin",
            "switch",
            "instead",
            "from_now",
            "finally",
            "now",
            "new",
            "since",
        ),
    )
)
_BEGIN = NAMES.index("begin")
_NOW = NAMES.index("now")
_NEW = NAMES.index("new")
_FROM_NOW = NAMES.index("from_now")
_SELF = NAMES.index("self")
_OTHER = NAMES.index("other")
_CIRCUMSTANCES = sum(1 << TOPIC_NAMES.index(name) for name in ("home", "job", "partner"))
_PUT_RIGHT = (*_CHANGES, NAMES.index("now"), _CORRECTION)
_OVER = tuple(map(NAMES.index, ("no_more", "end", "instead")))
_STILL = NAMES.index("still")
_EXERCISE = late_pattern(
    r"\b(?:trying|help|how (?:can|do|should) i|want) (?:to )?(?:\w+ )?"
    r"(?:prove|calculate|solve|verify|find|figure|apply|understand|model|classify|determine|debug|implement)\b"
    r"|\b(?:triangles?|theorem|equations?|formula|hypotenuse)\b"
)
"""A task to be worked on, which is no state of anybody."""
_NUMBER = late_pattern(r"\d+(?:[.:,]\d+)*")
_CODE = late_pattern(r"[A-Za-z]+\d+")
"""Name of a product, such as Mate60."""
_DATE = late_pattern(
    r"\b(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* \d{1,2}(?:st|nd|rd|th)?(?:,? \d{4})?"
)
_LONG_WORDS = 22
"""Words from which a message is long."""
_MANY_CLAUSES = 3
"""Clauses that tell something, beyond which a message is long too."""
_SHORT_CLAUSE = 18
"""Words of a clause up to which one word in common, or a topic, is evidence beside a word of an end."""
_PROBABLE = 0.5
"""Probability from which words of an end are evidence without a value that differs."""
_MOST_OF_SLIP = 2
"""Terms of a message that only sets a slip right: "it's Jannis"."""
_REPEATED = 0.6
"""Share of the words of a clause from which another with the same numbers repeats it."""
_NAME = late_pattern(r"(?<!\w)[A-ZÄÖÜÉÁÍÓÚÑÇ][\w'’-]+")
_TIME_CHARACTERS = frozenset(
    "周週星期礼拜禮曜日月年号點点時时分一二三四五六七八九十火水木金土天每早晚上下午前後后今明昨"
)
"""Characters that days and times are written with: two of them have some in common by chance."""
_GOES = late_pattern(r"\bgoes\b(?: (?:on leave|to|on|out|for|into|home))?")
_LEFT_SIDE = late_pattern(
    r"(?i:\bleft (?:hand\w*|foot|leg|knee|arm|side|ear|eye|shoe|sock|boot|wrist|shoulder|turn|lane|wing)\b|\bon the left\b)"
)
"""Left, not right: no word of an end."""
_REPLACED = late_pattern(
    r"\b(?:mov|switch|migrat|chang)\w* (?:\w+ )?from ((?:the |our |my )?[\w.+#-]+) to\b"
    r"|\b(?:instead of|rather than|in place of) ([\w.+#-]+)|\w, not ([\w.+#-]+)\W*$"
    r"|\b(?:rip(?:ped)? out|ditch(?:ed)?|got rid of|get rid of) (?:the |our |my )?([\w.+#-]+)"
)
"""What is replaced: "from Jenkins to Buildkite", "bun, not pnpm"."""
_WORD = late_pattern(r"[^\W\d_]+")
_QUESTION = late_pattern(r"[^.!?\n]*[?？]")
_OWNER = late_pattern(r"(\w+)['’]s\b")
_SUBJECT = late_pattern(r"(?<=\w)\s+(?=(?:[a-z]+(?:s|ed|t)|and|is|are|und|y|et|has|hat|ha|a)\s)")
"""End of the subject of a clause, roughly: before its verb."""
_PREPOSITION = late_pattern(
    r"\s(?:for|of|in|to|at|from|by|with|für|von|in|zu|bei|mit|de|en|para|con|à|pour|avec)\s"
)
_COPULA = late_pattern(r"\s(?:is|are|'s|ist|sind|es|son|esta|est|sont)\s|'s\s|用的是|是|は")
_BARE_COUNT = late_pattern(
    r"\W*(?:(?:and|so|well|oh|ok|actually|und|also|pues|alors)\W+)*"
    r"(?:(?:it's|its|there are|there's|we're|we are|they're|es sind|wir sind|sind|son|somos|on est|c'est|ce sont)\s+)?"
    r"(?:(?P<now>now|already|jetzt|inzwischen|ahora|ya|maintenant)\s+)?(?:(?:up|down) to\s+)?\d+(?:\s+of us)?"
    r"(?(now)|\s+(?:now|already|jetzt|inzwischen|ahora|ya|maintenant))\W*"
)
"""Number without what it counts, and that it is so now."""
_NEW_ONE = late_pattern(
    r"\W*(?:(?:the|our|my|der|die|das|unser\w*|mein\w*|el|la|mi|nuestr[oa]|le|mon|ma|notre) )?"
    r"(?:new|neue?[rs]?|nuev[oa]|nouveau|nouvel|nouvelle) (?P<thing>[^:,.]{2,40}?)(?::|\s(?:is|ist|es|est)\b)"
)
"""Somebody or something new by its role: "new coach: Thabo", "the new coach is Thabo"."""
_THING_END = late_pattern(
    r"[.,;:!?]|^\s(?:and|und|y|et|e)\s|\s(?:for|to|from|by|because|since|um|auf|por|pour|para|per)\s"
)
"""End of the words that tell the thing that changes."""
_CARRIER = late_pattern(
    r"\W*(?P<who>\w+) (?:has|does|plays|goes|learns|hat|macht|spielt|geht|lernt|tiene|juega|va|aprende|a|fait|joue|ha|fa"
    r"|gioca|tem|faz|anda|joga)\b"
)
"""Somebody who has or does the thing that a clause tells: "Emil has football"."""
_OF_THINGS = frozenset(map(NAMES.index, ("end", "switch", "new")))
"""Cues whose word stands before what changes."""
_SOON = 30
"""Minutes within which a correction need not name what it corrects."""
_SHORTEST = 3
"""Letters of the shortest word that counts as shared."""
_SHORTEST_KIND = 5
"""Letters of the shortest word that names the kind of a compound."""


@text_cache(1 << 12)
def is_long(text: str) -> bool:
    """True for a message that says so much that it is like many others.

    Cached: each message is compared with many.
    """
    if len(text.split()) > _LONG_WORDS:
        return True
    return sum(map(may_tell_change, split_clauses(text))) > _MANY_CLAUSES


def shows_replacement(ending: str, news: str, probability: float) -> bool:
    """True if the words of two clauses show that the newer replaces the older.

    Beside a number or name that differs they share two words, or one with a word of change or a
    second value that differs. A word of an end beside a common word or topic is less: it counts only
    where the change is probable.

    ``probability``: of the whole messages.
    """
    old = read_clause(ending)
    new = read_clause(news)
    if _EXERCISE.search(old.text.lower()) or _EXERCISE.search(new.text.lower()):
        return False
    shared = _find_shared(old, new)
    units = list_other_values(old.text, new.text)
    if units:
        own = [unit for unit in units if unit not in _list_common_units()]
        is_told = len(own) > 1 or bool(
            own and word_pattern(__file__, "replaced").search(fold(news))
        )
        return len(shared) >= (1 if is_told else 2)
    if _has_other_day_or_time(ending, news) and shared and (len(shared) > 1 or _is_changed(new)):
        return True
    if probability < _PROBABLE or new.cues[_STILL] or not any(new.cues[cue] for cue in _ENDS):
        return False
    is_short = max(len(ending.split()), len(news.split())) <= _SHORT_CLAUSE
    is_over = any(new.cues[cue] for cue in _OVER)
    return len(shared) > 1 or (is_short and is_over and bool(shared or old.topics & new.topics))


def shows_common_ground(ending: str, news: str, minutes: float) -> bool:
    """True if two clauses show that they are about one thing, of which the newer tells a change.

    They share a word, and the newer has another value or a word of change; or the name of whom the
    newer tells, and something is over; or the subject of another value ("my phone is …"); or the newer puts a value
    right within minutes. ``minutes``: between them.
    """
    old = read_clause(ending)
    new = read_clause(_LEFT_SIDE.sub(" ", news))
    names = _read_names(ending) & _read_names(news)
    topics = _find_shared(old, new) - names
    has_other_value = bool(list_other_values(ending, news)) or any(
        compare_typed_values(read_typed_values(fold(ending)), read_typed_values(fold(news)))
    )
    if minutes < _SOON and (has_other_value or new.cues[_CORRECTION]):
        return True
    if topics and (has_other_value or _is_changed(new) or new.cues[_NOW]):
        return True
    if names & _read_subject(news) and (
        bool(has_other_value and names & _read_subject(ending))
        or any(new.cues[cue] for cue in _OVER)
    ):
        return True
    return _gives_other_value(ending, news) or _changes_circumstance(old, new)


@text_cache(1 << 12)
def read_changed_things(news: str) -> frozenset[str]:
    """Read what the words of change in a clause are about: "quit her paper round", "eine neue Tram".

    Folded words. Numbers, days and measures may be the new value, and say nothing, as do words that
    only tell when. Behind "died" stands nothing that changes: it is about what stands before it.
    """
    folded = fold(news)
    own_end = word_pattern(__file__, "ends_itself")
    changes = [
        end for start, end in find_cue_words(folded, _OF_THINGS) if not own_end.match(folded, start)
    ]
    phrases = (_THING_END.split(folded[end:], maxsplit=1)[0] for end in changes)
    return frozenset(chain.from_iterable(map(_find_things, phrases)))


def _find_things(phrase: str) -> list[str]:
    """Find the words of the first thing: "old address", and not "team" of "lunch with the team".

    None if its first word names none.
    """
    words = list(dropwhile(lambda word: not _may_name(word), tokens(phrase)))
    things = list(takewhile(_may_name, words))
    return things if things and not _says_no_thing(things[0]) else []


def _may_name(word: str) -> bool:
    return any(len(term) >= _SHORTEST and term not in STOP for term in terms(word))


def _says_no_thing(word: str) -> bool:
    """True for a number, a measure, a general word and one of time."""
    if word.isdigit():
        return True
    return bool(
        (_list_measures() | list_general_words() | list_time_words()).intersection(terms(word))
    )


def changes_another_thing(ending: str, news: str) -> bool:
    """True if each word of change is about something else than what the older clause tells.

    It says nothing of it; or only names whom it tells of: "Emil has football", "I dropped Emil at
    the station".
    """
    changed_things = read_changed_things(news)
    if not changed_things:
        return _leaves_day_alone(ending, news)
    carrier = _CARRIER.match(fold(ending))
    carriers = set(terms(carrier["who"])) if carrier else set()
    told_words = (set(terms(ending)) | _read_names(news)) - carriers
    if not told_words.isdisjoint(chain.from_iterable(map(terms, changed_things))):
        return False
    return not (
        _holds_kind(ending, changed_things)
        or _changes_own_circumstance(ending, news, changed_things)
    )


def _holds_kind(ending: str, things: AbstractSet[str]) -> bool:
    """True if a word of the older clause is a compound with a thing: "Handynummer", "neue Nummer"."""
    return any(
        word != thing and word.endswith(thing)
        for thing in things
        if len(thing) >= _SHORTEST_KIND
        for word in tokens(fold(ending))
    )


def _changes_own_circumstance(ending: str, news: str, things: AbstractSet[str]) -> bool:
    """True if a thing is of the speaker's home, work or partner, of which the older clause tells.

    "I live in Riga", "new town, new flat"; not "a new flat for my sister".
    """
    old = read_clause(ending)
    if not old.cues[_SELF] or read_clause(news).cues[_OTHER]:
        return False
    return any(old.topics & read_clause(thing).topics & _CIRCUMSTANCES for thing in things)


def _leaves_day_alone(ending: str, news: str) -> bool:
    """True if the older clause tells a day or time, and the newer neither another nor an end."""
    days, clocks, *_ = read_typed_values(fold(ending))
    if not (days or clocks) or any(read_typed_values(fold(news))):
        return False
    new = read_clause(news)
    return bool(new.cues[_FROM_NOW]) and not any(new.cues[cue] for cue in _ENDS)


def is_passing(news: str) -> bool:
    """True for what is otherwise for a while only: "just this week", 这两天."""
    is_for_good = read_clause(news).cues[_FROM_NOW] > 0
    return not is_for_good and word_pattern(__file__, "passing").search(fold(news)) is not None


def is_supposed(news: str) -> bool:
    """True for news of what may only come to be: "moving to Leeds in summer, probably", 可能会."""
    return word_pattern(__file__, "supposed").search(fold(news)) is not None


def held_before(news: str, minutes: float) -> bool:
    """True for what was so before the older statement of the same day: "I'm a widow since 2019".

    Nothing has changed between the two then. ``minutes``: between them. A correction says that it is
    one.
    """
    if minutes >= _DAY or word_pattern(__file__, "since_year").search(fold(news)) is None:
        return False
    return not read_clause(news).cues[_CORRECTION]


def is_of_one_occasion(ending: str, news: str) -> bool:
    """True for what is otherwise on one day of those on which something is so.

    "This Friday no yoga" after "Fridays I go to yoga"; "this Friday at ten" after "this Friday at
    nine" is another time of the same occasion.
    """
    if read_clause(news).cues[_FROM_NOW]:
        return False
    occasion = word_pattern(__file__, "occasion")
    return occasion.search(fold(news)) is not None and occasion.search(fold(ending)) is None


def tells_only_an_event(news: str) -> bool:
    """True for what happened on one day, without a word of a change: "I was late again today"."""
    undated, days = word_pattern(__file__, "one_day").subn(" ", fold(news))
    # "Heute" is a word of change where no day is meant: it is not looked at twice.
    new = read_clause(undated)
    if any(new.cues[cue] for cue in _CHANGE_CUES) or _tells_replacement(news):
        return False
    return days > 0 or tells_past_event(news)


def tells_only_a_way(ending: str, news: str) -> bool:
    """True for where somebody goes, beside a clause about something else: "Abena goes to school".

    "Goes to" is a word of change where the older clause has a day, time or date that the newer one
    moves: "the meeting goes to Friday".
    """
    folded = fold(news)
    unmoved, ways = _GOES.subn(" ", folded)
    if not ways or _GOES.search(fold(ending)):
        return False
    if any(compare_typed_values(read_typed_values(fold(ending)), read_typed_values(folded))):
        return False
    # "The harvest supper goes in the barn" is about the supper that was told of.
    if _find_shared(read_clause(ending), read_clause(news)) - _read_names(news):
        return False
    new = read_clause(unmoved)
    return not any(new.cues[cue] for cue in _CHANGE_CUES) and not _tells_replacement(unmoved)


def replaces_another(old_text: str, news: str) -> bool:
    """True if a clause says what is replaced, and an older message names nothing of it.

    "Use bun now, not pnpm" ends nothing that was said of ruff.
    """
    replaced = {
        word
        for match in _REPLACED.finditer(news)
        for group in match.groups()
        if group
        for word in terms(group)
    }
    return bool(replaced) and replaced.isdisjoint(terms(old_text))


def _has_other_day_or_time(ending: str, news: str) -> bool:
    """True if another day of the week or time of day is named: dates differ between any two plans."""
    day, time, *_ = compare_typed_values(
        read_typed_values(fold(ending)), read_typed_values(fold(news))
    )
    return day or time


def _has_other_part_of_day(ending: str, news: str) -> bool:
    """True if both name parts of the day, and none in common: "in the morning", "evening now"."""
    parts = _map_parts_of_day()
    old_parts, new_parts = (
        {parts[word] for word in _WORD.findall(fold(text)) if word in parts}
        for text in (ending, news)
    )
    return bool(old_parts) and bool(new_parts) and old_parts.isdisjoint(new_parts)


@cache
def _map_parts_of_day() -> dict[str, str]:
    rows = map(str.split, fold(read_vocabulary(__file__, "members_parts_of_day")).splitlines())
    return {word: words[0] for words in rows for word in words}


def _is_changed(new: MessageClause) -> bool:
    return any(new.cues[cue] for cue in _CHANGES) or _tells_replacement(new.text)


def puts_right(old: MessageFeatures, new: MessageFeatures, minutes: float) -> bool:
    """True if a newer message gives another value of the same type for the same thing.

    Another day, time or date, beside a word of change and a word for the thing; or, within an hour,
    a name or number that the older one had with a slip of the keys. Long messages name too much to
    tell. ``minutes``: between them.
    """
    if not (_puts_slip_right(old.text, new.text, minutes) or _puts_value_right(old, new, minutes)):
        return False
    return not (is_long(old.text) or is_long(new.text))


def _puts_slip_right(old_text: str, new_text: str, minutes: float) -> bool:
    if minutes >= _CORRECTED_WITHIN:
        return False
    said_now = _QUESTION.sub(" ", new_text)
    if not are_misspelt(_read_names_and_numbers(old_text), _read_names_and_numbers(said_now)):
        return False
    # "Der Hund bellt" and "Meine Hand tut weh" have two words of almost the same letters.
    new_terms = set(terms(said_now)) - STOP
    return len(new_terms) <= _MOST_OF_SLIP or not new_terms.isdisjoint(terms(old_text))


def _puts_value_right(old: MessageFeatures, new: MessageFeatures, minutes: float) -> bool:
    if not tells_other_value(old, new):
        return False
    is_correction = minutes < _CORRECTED_WITHIN and new.whole.cues[_CORRECTION] > 0
    return is_correction or _share_thing(old.whole, new.whole)


def tells_other_value(old: MessageFeatures, new: MessageFeatures) -> bool:
    """True if a newer message has another day, time or date than the older, and a word of change."""
    if not any(compare_typed_values(old.typed, new.typed)):
        return False
    return any(new.whole.cues[cue] for cue in _PUT_RIGHT) or _tells_replacement(new.text)


@text_cache(1 << 12)
def _read_names_and_numbers(text: str) -> frozenset[str]:
    # "She" and "The" begin sentences, and are no name with a slip of the keys.
    names = {fold(name) for name in _NAME.findall(text)} - STOP
    return frozenset((*names, *_NUMBER.findall(text)))


def _share_thing(old: MessageClause, new: MessageClause) -> bool:
    """True if two messages share a word for a thing, or one has it short: "podcast" and "pod"."""
    if _find_shared(old, new):
        return True
    old_words, new_words = (
        {word for word in clause.words - list_general_words() if len(word) >= _SHORTEST}
        for clause in (old, new)
    )
    return any(
        old_word.startswith(new_word) or new_word.startswith(old_word)
        for old_word in old_words
        for new_word in new_words
        if old_word.isascii() and not old_word.isdigit()
    )


@text_cache(1 << 12)
def _tells_replacement(news: str) -> bool:
    return bool(word_pattern(__file__, "replaced").search(fold(news)))


def gives_other_value(ending: str, news: str) -> bool:
    """True for two clauses about one thing with values of one type, or of one subject, that differ."""
    differ = bool(list_other_values(ending, news)) or any(
        compare_typed_values(read_typed_values(fold(ending)), read_typed_values(fold(news)))
    )
    if (differ or _has_other_count(ending, news)) and _find_shared(
        read_clause(ending), read_clause(news)
    ):
        return True
    return _gives_other_value(ending, news) or _renews_subject(ending, news)


def _has_other_count(ending: str, news: str) -> bool:
    """True for two clauses with one number each, and not the same: "three people", "five strong"."""
    counts = [_NUMBER.findall(_write_digits(text)) for text in (ending, news)]
    return all(len(count) == 1 for count in counts) and counts[0] != counts[1]


def _renews_subject(ending: str, news: str) -> bool:
    """True if a newer clause tells of a new one of what the subject of the older is.

    "Our account manager at Vantor is Ikram", "Vantor gave us a new account manager, Joss": it names
    whom the subject names.
    """
    subject, *remainder = _COPULA.split(fold(ending), maxsplit=1)
    if not remainder or not read_clause(news).cues[_NEW]:
        return False
    subject_words = set(terms(subject))
    subject_names = _read_names(ending) & subject_words
    changed_words = set(chain.from_iterable(map(terms, read_changed_things(news))))
    is_renewed = bool(changed_words) and changed_words <= subject_words
    return is_renewed and subject_names <= set(terms(news))


def tells_bare_count(text: str) -> bool:
    """True for a number that is so now, and nothing of what it counts: "it's four now"."""
    return _BARE_COUNT.fullmatch(fold(_write_digits(text))) is not None


def recounts(old_text: str, new_text: str) -> bool:
    """True if a bare count differs from the one number of the message before it."""
    return tells_bare_count(new_text) and _has_other_count(old_text, new_text)


def names_new_one(old_text: str, new_text: str) -> bool:
    """True for "new coach: Thabo" after "our coach is Rosalind": one role or thing, filled anew."""
    for news in split_clauses(new_text):
        new_one = _NEW_ONE.match(fold(news))
        role_words = set(terms(new_one["thing"])) if new_one else set()
        if role_words and any(
            _is_subject(clause, role_words, news) for clause in split_clauses(old_text)
        ):
            return True
    return False


def _is_subject(clause: str, role_words: AbstractSet[str], news: str) -> bool:
    """True if a clause tells who or what bears some words; a name in its subject is said again."""
    subject, *remainder = _COPULA.split(fold(clause), maxsplit=1)
    subject_words = set(terms(subject))
    names = _read_names(clause) & subject_words
    return bool(remainder) and role_words == subject_words - names and names <= set(terms(news))


def ends_circumstance(ending: str, news: str) -> bool:
    """True for somebody's home, work or partner, of which the newer clause tells an end."""
    new = read_clause(news)
    return any(new.cues[cue] for cue in _ENDS) and _changes_circumstance(read_clause(ending), new)


def _gives_other_value(ending: str, news: str) -> bool:
    """True for two clauses "this is that" of the same subject and different objects."""
    old_sides = _COPULA.split(fold(ending), maxsplit=1)
    new_sides = _COPULA.split(fold(news), maxsplit=1)
    if len(old_sides) < 2 or len(new_sides) < 2:
        return False
    old_subject, new_subject = (set(terms(sides[0])) for sides in (old_sides, new_sides))
    shared = old_subject & new_subject - list_general_words()
    is_same = 2 * len(shared) > min(len(old_subject), len(new_subject)) > 0
    return is_same and set(terms(old_sides[1])).isdisjoint(terms(new_sides[1]))


def _changes_circumstance(old: MessageClause, new: MessageClause) -> bool:
    """True for somebody's home, work or partner, of which the newer clause tells an end or a start."""
    is_own = old.cues[_SELF] and not new.cues[_OTHER]
    is_brief = len(new.text.split()) <= _SHORT_CLAUSE
    return bool(
        is_own
        and is_brief
        and old.topics & new.topics & _CIRCUMSTANCES
        and any(new.cues[cue] for cue in (*_ENDS, _BEGIN))
    )


@text_cache(1 << 12)
def _read_names(text: str) -> frozenset[str]:
    """Read the names of a text, as terms; none in German, which writes every noun like one."""
    if detect_language(text) == "german":
        return frozenset()
    names = frozenset(term for name in _NAME.findall(text) for term in terms(name))
    return names - _list_measures()


def _read_subject(clause: str) -> frozenset[str]:
    """Read the names in the subject of a clause: "my boss Fran left", not "the coach for York left"."""
    subject = _SUBJECT.split(clause, maxsplit=1)[0]
    return _read_names(_PREPOSITION.split(subject, maxsplit=1)[0])


def says_the_same(ending: str, news: str) -> bool:
    """True if a newer clause has the values and most words of the older, and no word of an end.

    Or all its words, but for those of time.
    """
    if says_again(ending, news):
        return True
    if _has_other_part_of_day(ending, news) and not tells_past_event(news):
        return False
    codes = set(_CODE.findall(ending))
    numbers = set(_NUMBER.findall(ending))
    # A day that only the newer names is no other value: "from 1 November on".
    news_values = news if _DATE.search(ending) else _DATE.sub(" ", news)
    if not numbers or numbers != set(_NUMBER.findall(news_values)):
        return False
    old = read_clause(ending)
    new = read_clause(news)
    words = {word for word in old.words if not word.isdigit()}
    is_code = bool(codes) and codes == set(_CODE.findall(news)) and not _tells_other(old, new)
    repeats = is_code or len(words & new.words) >= _REPEATED * len(words)
    return repeats and not any(new.cues[cue] for cue in _OVER)


def _tells_other(old: MessageClause, new: MessageClause) -> bool:
    """True for another name beside a word of change: "traded the X-T3 in for a Nikon"."""
    is_changed = any(new.cues[cue] for cue in _ENDS)
    return is_changed and bool(_read_names(new.text) - _read_names(old.text))


def _find_shared(old: MessageClause, new: MessageClause) -> set[str]:
    return {
        word
        for word in (_read_words(old) & _read_words(new)) - list_general_words() - _list_measures()
        if (len(word) >= _SHORTEST or not word.isascii())
        and not word.isdigit()
        and not _TIME_CHARACTERS.issuperset(word)
    }


def _read_words(clause: MessageClause) -> frozenset[str]:
    """Read the words of a clause, those before "'s" too."""
    owners = _OWNER.findall(clause.text)
    return clause.words.union(*map(terms, owners)) if owners else clause.words


def list_other_values(old_text: str, new_text: str) -> list[str]:
    """List the words beside which a number or a name differs: units and the like.

    Not those that stand beside anything: "by March" and "by October", "on 1 May" and "on 3 May".
    """
    old_values = read_values(_write_digits(old_text))
    new_values = read_values(_write_digits(new_text))
    weak = _list_weak_neighbours()
    return [
        key[1]
        for key in old_values.keys() & new_values.keys()
        if key[1] not in weak and old_values[key].isdisjoint(new_values[key])
    ]


@text_cache(1 << 12)
def _write_digits(text: str) -> str:
    """Write the number words of a text as digits: "three seats", "3 seats"."""
    digits = _map_number_words()
    return _WORD.sub(lambda match: digits.get(match[0].casefold(), match[0]), text)


@cache
def _map_number_words() -> dict[str, str]:
    rows = map(str.split, read_vocabulary(__file__, "number_words").splitlines())
    return {word: digits for digits, *words in rows for word in words}


@cache
def _list_weak_neighbours() -> frozenset[str]:
    """List the beginnings of words that stand beside values of anything."""
    return _read_beginnings("weak_neighbours")


@cache
def _list_measures() -> frozenset[str]:
    """List units, months and days as search terms: two clauses about anything may share them."""
    return frozenset(
        term
        for table in ("common_units", "members_months", "members_days")
        for term in terms(read_vocabulary(__file__, table))
    )


@cache
def _list_common_units() -> frozenset[str]:
    """List the beginnings of units that measure many things: per cent, hours, kilobytes."""
    return _read_beginnings("common_units")


def _read_beginnings(table: str) -> frozenset[str]:
    words = fold(read_vocabulary(__file__, table)).split()
    return frozenset(word[:length] for word in words for length in (4, 5, len(word)))


@cache
def list_general_words() -> frozenset[str]:
    """List the words that two clauses may share without being about the same."""
    return frozenset(terms(read_vocabulary(__file__, "general_words")))


@cache
def list_time_words() -> frozenset[str]:
    """List the words that tell when something is over, as search terms."""
    return frozenset(terms(read_vocabulary(__file__, "over_times")))
