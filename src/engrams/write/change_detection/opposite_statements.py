"""Two statements that say the contrary of the same: "before meals", then "after meals".

They are about the same in the same words, and differ only in one of a pair of opposites, or in a
negation that one of them has. Enter at ``may_contradict`` and ``find_opposite``. Never beside words
that let both hold: "there is parking before the bridge", "you can pay without the app"; for these
``lets_both_hold`` tells that neither changes the other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

from engrams.frozen_data import dataclass
from engrams.text.clause_kinds import (
    adds_something,
    is_joke,
    may_end,
    may_tell_change,
    tells_past_event,
)
from engrams.text.clause_split import split_clauses
from engrams.text.comparison.language_tables import LANGUAGES, detect_language
from engrams.text.name_order import is_reordered
from engrams.text.normalize import fold
from engrams.text.stems import stem_word
from engrams.text.text_caches import text_cache
from engrams.text.vocabulary import read_rows, read_vocabulary

_ENGLISH = "english"
_JAPANESE = "japanese"
_UNSPACED = ("chinese", _JAPANESE)
_LONGEST = 200
"""Characters of the longest message that is compared: a longer one tells of several things."""
_MOST_CLAUSES = 4
_MOST_WORDS = 16
"""Words of the longest clause that is compared."""
_MOST_BETWEEN = 6
"""Words that may stand between the two parts of a negation: "ne mange … plus"."""
_FEWEST_LETTERS = 3
"""Letters of the shortest word that tells what a clause is about."""
_MEANINGFUL = re.compile("[\u30a0-\u30fa\u4e00-\u9fff]")
"""Character that tells what a clause is about, in a script without spaces."""
_WORD = re.compile(r"[^\W_]+")
_CHARACTER = re.compile(r"[^\W_]|、")
_CONTRACTED = (
    (re.compile(r"\b(?:can't|cannot|cant)\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"\b(do|does|did|is|are|was|were|has|have|had)nt\b"), r"\1 not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"'m\b"), " am"),
    (re.compile(r"'re\b"), " are"),
    (re.compile(r"'ve\b"), " have"),
    (re.compile(r"'s\b"), " is"),
)
_TO_BE = frozenset(("is", "are", "am"))
_VERB_FORMS = {"has": "have", "goes": "go"}
_JAPANESE_DENIED = re.compile(
    r"(?:(?:では|じゃ)(?:ありません|ない(?:です)?)|[かがさたなまらわばいえけげせてねべめれきぎしじちにびみり]?(?:ません|ない(?:です)?)|くない(?:です)?)(?:よ|ね)?$"
)
_JAPANESE_AFFIRMED = re.compile(
    r"(?:です|だ|である|[いえけげせてねべめれきぎしじちにびみり]?ます|[うくぐすつぬぶむる]|い(?:です)?)(?:よ|ね)?$"
)
_SPAN = "span"
_EXACT = "exact"
_DOSE = "dose"


@dataclass(frozen=True, slots=True)
class _WordTable:
    """Words of one language that decide what a statement says."""

    sides: Mapping[str, tuple[int, int]]
    """Pair and side of each word or phrase of a pair."""
    kinds: Sequence[str]
    """Kind of each pair."""
    deciding: re.Pattern[str]
    """Finds the words of pairs and negations, and those that add nothing."""
    negations: frozenset[str]
    gapped: re.Pattern[str] | None
    """Finds a negation of two parts; its groups are what stands between."""
    open: re.Pattern[str]
    unsettled: re.Pattern[str]
    contradicting: re.Pattern[str]
    """Finds any word of a pair, and what a negation begins with."""
    unnamed: re.Pattern[str]
    dosed: frozenset[str]
    """Words for a medicine that is taken at a time of the day: "pills", "Tropfen"."""


@dataclass(frozen=True, slots=True)
class _ReadStatement:
    """A clause taken apart."""

    rest: tuple[str, ...]
    """Its words without those that decide, sorted: a phrase may stand anywhere."""
    sides: Counter[tuple[int, int]]
    """Words of pairs in it, as pair and side."""
    is_denied: bool
    is_open: bool
    """Beside it the same with the other word of a pair may hold."""


@text_cache(1 << 12)
def may_contradict(text: str) -> bool:
    """True for a message of a lasting state with a word of a pair of opposites, or a negation."""
    if len(text) > _LONGEST:
        return False
    language = detect_language(text)
    if not language or not _load_table(language).contradicting.search(_normalise(text, language)):
        return False
    return any(
        statement.is_denied or statement.sides
        for _, statement in _list_statements(text, language, may_tell_change)
    )


def find_opposite(old_text: str, new_text: str) -> tuple[str, str] | None:
    """Find a clause of an older message and one of a newer that says its contrary; None: none does."""
    if max(len(old_text), len(new_text)) > _LONGEST or is_joke(new_text):
        return None
    language = detect_language(f"{old_text} {new_text}")
    if not language:
        return None
    old_statements = [*_list_statements(old_text, language, may_end)]
    if not old_statements:
        return None
    for news, new in _list_statements(new_text, language, may_tell_change):
        for ending, old in old_statements:
            if _are_contrary(old, new, _load_table(language)) and not is_reordered(ending, news):
                return ending, news
    return None


def lets_both_hold(old_text: str, new_text: str) -> bool:
    """True for two statements in opposite words that both hold: "goes up", "goes down".

    So do they on two days of the week: "on Mondays before meals", "on Fridays after meals".
    """
    if max(len(old_text), len(new_text)) > _LONGEST:
        return False
    language = detect_language(f"{old_text} {new_text}")
    if not language:
        return False
    old = _read_statement(old_text, language)
    new = _read_statement(new_text, language)
    if old is None or new is None or old.is_denied != new.is_denied:
        return False
    pair = _find_pair(old, new)
    table = _load_table(language)
    if pair is None or table.kinds[pair] == _DOSE:
        return False
    if old.rest == new.rest:
        return not _are_contrary(old, new, table)
    other_words = {*old.rest} ^ {*new.rest}
    return len(other_words) == 2 and all(
        word in _load_days() or word.rstrip("s") in _load_days() for word in other_words
    )


@cache
def _load_days() -> frozenset[str]:
    return frozenset(read_vocabulary(__file__, "members_days").split())


def _find_pair(old: _ReadStatement, new: _ReadStatement) -> int | None:
    """Find the only pair of opposites whose two words two statements differ in; None: another thing."""
    only_old = [*(old.sides - new.sides).elements()]
    only_new = [*(new.sides - old.sides).elements()]
    if len(only_old) != 1 or len(only_new) != 1:
        return None
    ((old_pair, old_side),) = only_old
    ((new_pair, new_side),) = only_new
    return old_pair if old_pair == new_pair and old_side != new_side else None


def _are_contrary(old: _ReadStatement, new: _ReadStatement, table: _WordTable) -> bool:
    """True if two clauses with the same other words differ in one pair, or in a negation.

    What is taken may be named shortly: "I take B12 pills in the evening", "B12 pills with breakfast".
    """
    if old.rest != new.rest:
        return _moves_dose(old, new, table)
    if old.is_denied != new.is_denied:
        return old.sides == new.sides
    pair = _find_pair(old, new)
    if pair is None or old.is_open or new.is_open:
        return False
    return _decides(old, table.kinds[pair], table)


def _moves_dose(old: _ReadStatement, new: _ReadStatement, table: _WordTable) -> bool:
    """True if the words of one of two clauses are among those of the other, and a dose moves."""
    pair = _find_pair(old, new)
    if pair is None or table.kinds[pair] != _DOSE or old.is_open or new.is_open:
        return False
    if old.is_denied or new.is_denied:
        return False
    old_words = {*old.rest}
    new_words = {*new.rest}
    is_short_form = old_words <= new_words or new_words <= old_words
    return is_short_form and not table.dosed.isdisjoint(old_words & new_words)


def _decides(statement: _ReadStatement, kind: str, table: _WordTable) -> bool:
    """True unless a pair lets both hold: "goes up" and "goes down", "from 8" and "until 8"."""
    if kind == _DOSE:
        return not table.dosed.isdisjoint(statement.rest)
    if kind == _EXACT:
        return not _TO_BE.isdisjoint(statement.rest)
    return kind != _SPAN or not any(map(str.isdigit, statement.rest))


def _list_statements(
    text: str, language: str, may_tell: Callable[[str], bool]
) -> Iterator[tuple[str, _ReadStatement]]:
    clauses = split_clauses(text)
    if len(clauses) > _MOST_CLAUSES:
        return
    for clause in clauses:
        statement = _read_statement(clause, language)
        if statement is None or not may_tell(clause):
            continue
        if not adds_something(clause) and not tells_past_event(clause):
            yield clause, statement


@text_cache(1 << 12)
def _read_statement(clause: str, language: str) -> _ReadStatement | None:
    """Take a clause apart; None: it tells no lasting state of something that it names."""
    table = _load_table(language)
    text = _normalise(clause, language)
    if table.unsettled.search(text) or table.unnamed.match(text):
        return None
    is_open = table.open.search(text) is not None
    denials = 0
    if language == _JAPANESE:
        text, denials = _cut_japanese_end(text)
    if table.gapped is not None:
        text, denials = table.gapped.subn(_keep_between, text)
    sides: Counter[tuple[int, int]] = Counter()
    for match in table.deciding.finditer(text):
        if match[0] in table.negations:
            denials += 1
        elif match[0] in table.sides:
            sides[table.sides[match[0]]] += 1
    remainder = table.deciding.sub(" ", text)
    rest = _split_rest(remainder, language)
    if not rest or len(rest) > _MOST_WORDS or denials > 1:
        return None
    return _ReadStatement(rest, sides, is_denied=bool(denials), is_open=is_open)


def _keep_between(match: re.Match[str]) -> str:
    return " ".join(group for group in match.groups() if group)


def _cut_japanese_end(text: str) -> tuple[str, int]:
    """Cut the end of a Japanese predicate, with 1 if it denies: "動きません", "動く"."""
    remainder, count = _JAPANESE_DENIED.subn("", text)
    if count:
        return remainder, count
    return _JAPANESE_AFFIRMED.sub("", text), 0


def _split_rest(remainder: str, language: str) -> tuple[str, ...]:
    """Split what is left of a clause into sorted words; empty: it tells of nothing."""
    words = remainder.split() if language not in _UNSPACED else [*_CHARACTER.findall(remainder)]
    if language == _ENGLISH:
        words = [_spell(_VERB_FORMS.get(word, word), language) for word in words]
        words = [word if word not in _TO_BE else "is" for word in words]
    if language in _UNSPACED:
        return tuple(sorted(words)) if _MEANINGFUL.search(remainder) else ()
    return tuple(sorted(words)) if any(len(word) >= _FEWEST_LETTERS for word in words) else ()


def _spell(word: str, language: str) -> str:
    """Return the stem of an English word, and any other as it is."""
    return stem_word(word, language) if language == _ENGLISH else word


@text_cache(1 << 12)
def _normalise(text: str, language: str) -> str:
    """Write a text as its words between blanks, or without blanks where the script has none."""
    folded = fold(text).replace("’", "'")
    if language in _UNSPACED:
        return "".join(_CHARACTER.findall(folded))
    if language == _ENGLISH:
        for pattern, spelling in _CONTRACTED:
            folded = pattern.sub(spelling, folded)
    return " ".join(_WORD.findall(folded))


@cache
def _load_rows() -> Mapping[str, Sequence[tuple[str, list[list[str]]]]]:
    tables: dict[str, list[tuple[str, list[list[str]]]]] = {language: [] for language in LANGUAGES}
    for row in read_rows(__file__, "opposite_words"):
        language, kind, *columns = row.split("\t")
        tables[language].append((kind, [column.split("|") for column in columns]))
    return tables


@cache
def _load_table(language: str) -> _WordTable:
    rows = _load_rows()[language]
    pairs = [(kind, columns) for kind, columns in rows if len(columns) > 1]
    lists = {kind: columns[0] for kind, columns in rows if len(columns) == 1}
    sides = {
        word: (number, side)
        for number, (_, columns) in enumerate(pairs)
        for side, words in enumerate(columns)
        for word in words
    }
    negations = lists.get("negation", [])
    gapped = [word for word in negations if "*" in word]
    plain = [word for word in negations if "*" not in word]
    is_spaced = language not in _UNSPACED
    return _WordTable(
        sides=sides,
        kinds=[kind for kind, _ in pairs],
        deciding=_compile([*sides, *plain, *lists["empty"]], is_spaced=is_spaced),
        negations=frozenset(plain),
        gapped=_compile_gapped(gapped) if gapped else None,
        open=_compile(lists["open"], is_spaced=is_spaced),
        unsettled=_compile(lists["unsettled"], is_spaced=is_spaced),
        contradicting=_compile(
            [*sides, *(word.partition(" ")[0] for word in negations)] or [""], is_spaced=is_spaced
        )
        if language != _JAPANESE
        else re.compile("|".join((*map(re.escape, sides), "ない", "ません"))),
        unnamed=_compile_unnamed(lists["unnamed"], plain, is_spaced=is_spaced),
        dosed=frozenset(_spell(word, language) for word in lists.get("dosed", ())),
    )


def _compile(words: Sequence[str], *, is_spaced: bool) -> re.Pattern[str]:
    """Compile words and phrases into a pattern that finds any of them, the longest first."""
    joined = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    return re.compile(rf"\b(?:{joined})\b" if is_spaced else joined)


def _compile_unnamed(
    words: Sequence[str], negations: Sequence[str], *, is_spaced: bool
) -> re.Pattern[str]:
    """Compile the first words of a statement of something unnamed; a negation may precede them."""
    before = "|".join(map(re.escape, negations))
    first = "|".join(map(re.escape, words))
    if not is_spaced:
        return re.compile(first)
    return re.compile(rf"(?:(?:{before}) )?(?:{first})\b(?! y a\b)")


def _compile_gapped(phrases: Sequence[str]) -> re.Pattern[str]:
    """Compile negations of two parts with some words between them."""
    between = rf"((?: [^\W_]+){{0,{_MOST_BETWEEN}}}?) "
    return re.compile(
        "|".join(
            rf"\b{first.strip()}{between}{last.strip()}\b"
            for first, _, last in (phrase.partition("*") for phrase in phrases)
        )
    )
