"""Parts of a message that are not its sender's own words: pasted, forwarded, retrieved or quoted.

Enter at ``find_foreign_parts`` for the parts with their reasons, and at ``blank_foreign_parts`` for the
rest. A statement counts as the sender's only if it stands in the part that addresses the assistant.
Pure, without a model, for English, German, French, Spanish, Chinese and Japanese.

The text is read line by line. A line may begin a foreign text (a mail's head, "Forwarded message",
a template of retrieved text), ask for work on the text that follows ("Summarise this:"), or
introduce the words of somebody else ("Tom wrote me:"). What follows such a line is foreign up to
the end of the text, because nothing but the sender knows where it ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise

from engrams.frozen_data import dataclass
from engrams.text.late_patterns import holds_any, late_pattern
from engrams.text.normalize import fold
from engrams.text.text_caches import text_cache
from engrams.text.vocabulary import read_patterns

_LONGEST = 20_000
"""Characters of a text that are read; all behind them is foreign if the text pastes anything."""
_LONGEST_ASK = 400
"""Characters of a line from which it is no request."""
_WORK = "a text to work on"
_OTHERS = "a text of somebody else"
_FROM_SEARCH = "retrieved text"


_table = partial(read_patterns, __file__, "foreign")

# Latin look-alikes of Cyrillic and Greek letters, which a forged "Summarise" is spelled with.
_LOOKALIKES = str.maketrans("авекмнорстухіјѕαεορνικτυ", "abekmhopctyxijsaeopviktu")
_MIXED = late_pattern(r"[a-z][^\W\d_a-z]|[^\W\d_a-z][a-z]")
_INVISIBLE = late_pattern(
    "[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\U000e0000-\U000e01ef]"
)

_THING = _table("things")
_POINTER = _table("pointers")
_DETERMINER = _table("determiners")
_HAN_THING = "(?:文章|邮件|文本|内容|这段|这篇|消息|网页|信件|文档|メール|記事|手紙|テキスト|文)"

# Requests for work on a text.
_POLITELY = rf"(?:\W|\b{_table('politeness')}\b)*"
_TASK = late_pattern(rf"^{_POLITELY}(?<!\w){_table('tasks')}(?!\w)")
_WEAK_TASK = late_pattern(
    rf"^{_POLITELY}\b{_table('weak_tasks')}\b(?:[^.!?\n]{{0,40}}?\b{_POINTER}\b"
    rf"|[^.!?\n]{{0,30}}?\b{_DETERMINER} (?:[\w'-]+ ){{0,2}}{_THING}\b)"
)
_QUESTION = late_pattern(rf"\b{_table('questions', thing=_THING, determiner=_DETERMINER)}")
_HAN_ASK = late_pattern(
    r"(?:总结|概括|翻译|校对|润色|改写|缩写|解释|分析)(?:一下|成)?"
    r"|(?:要約|翻訳|校正|添削|説明|分析)して|訳して|まとめて"
    rf"|这(?:封|篇|段|个|条)?{_HAN_THING}?[^。！？\n]{{0,12}}(?:诈骗|垃圾|真的|什么意思|怎么样)"
    rf"|(?:[这此](?:[封篇段个条则份]|一[封篇段个条则份])|以下|下面|下列)的?{_HAN_THING}"
    rf"|(?:この|次の|以下の){_HAN_THING}"
)

# Words that show or introduce a text of somebody else.
_GREETING = r"(?:ok\W+|so\W+|look\W+|hey\W+)*"
_SHOWN_THING = (
    rf"(?:[^.!?\n]{{0,50}}\b{_THING}\b"
    r"|[^.!?\n]{0,30}\b(?:see|saw|shows?|below|write|wrote|say|said|sent|from)\b)"
)
_SHOWN = late_pattern(_table("shown", greeting=_GREETING, shown=_SHOWN_THING, thing=_THING))
_TELLER = late_pattern(
    r"(?<!\bi )(?<!\bwe )(?<!\bich )(?<!\bje )(?<!\byo )(?<!\bi just )(?<!\bj'ai )"
    rf"\b{_table('tellers')}\b[^:\n]{{0,60}}$"
)
_HAN_TELLER = late_pattern(
    r"(?<![我私])(?:说|写道|表示|来信|发来|告诉我)[^:：\n]{0,12}$"
    r"|から(?:こんな|次の)?(?:メール|手紙|メッセージ|返事)"
)
_OWN_POSSESSIVE = r"(?:my|our|mein\w*|unser\w*|mon|ma|mes|mi|mis)"
_THING_HEAD = late_pattern(
    rf"^\W*(?!(?:{_OWN_POSSESSIVE}|i)\b(?! [\w-]+'s\b))(?:[\w'’.#-]+ ){{0,6}}?{_THING}\b"
    r"(?: [\w'’.#-]+){0,6}$"
)
_OWN_HEAD = late_pattern(rf"\b{_table('own_heads')}\b[^.!?]{{0,20}}$")
_OWN_THING = late_pattern(rf"\b{_OWN_POSSESSIVE} (?:(?![\w-]+'s\b)[\w-]+ ){{0,2}}{_THING}\W*$")
_EXAMPLE_HEAD = late_pattern(
    rf"\b{_table('examples')}\b"
    rf"(?:[^:\n]{{0,40}}\b{_table('example_speakers')}\b[^:\n]{{0,30}}$|[^:\n]{{0,12}}$)"
)
_GAME = late_pattern(rf"\b{_table('games')}\b")
_ANNOUNCED = late_pattern(
    rf"\b{_table('announced', thing=_THING)}|下一(?:条|个)(?:消息|信息)|次のメッセージ"
)

# Lines that a foreign text begins with.
_MARK = late_pattern(rf"^[\W_]*{_table('marks')}")
_RETRIEVED = late_pattern(_table("retrieved"))
_ATTACHED = late_pattern(_table("attached"))
_END_MARK = late_pattern(r"^[=\-*#_~<>]{2,} ?end\b")
_MAIL_FIELD = late_pattern(rf"^\W{{0,3}}{_table('mail_fields')} ?[:：]")
_PAGE_FIELD = late_pattern(rf"^\W{{0,3}}{_table('page_fields')} ?:")
_FIELDS_BESIDE = 6
"""Lines from the first field of a mail's or a page's head in which there is another."""
_CHAT_HEAD = late_pattern(_table("chat_heads"))
_TIME = late_pattern(r"\d{1,2}:\d{2}|\d{4}-\d\d-\d\d")
_SPEAKER_LINE = late_pattern(
    rf"^\W{{0,4}}{_table('speakers')}(?: ?\([^)\n]{{0,30}}\))? ?[:：]\s*\S"
)
_QUERY_LINE = late_pattern(rf"^\W{{0,4}}{_table('queries')} ?[:：]")
_FIELD_LINE = late_pattern(
    r"^\W{0,4}(?:context|answer|sources?|documents?|helpful answer|response) ?:"
)

# Shapes of texts that nobody types to an assistant.
_LABEL_LINE = late_pattern(
    r"^\W{0,4}([^\W\d_][\w.'-]{0,20}(?: [^\W\d_][\w.'-]{0,20})?) ?(?:\([^)\n]{0,30}\))? ?[:：]\s*(\S.*)$"
)
_OWN_LABEL = late_pattern(rf"^{_table('heads')}$")
_FIRST_PERSON = late_pattern(rf"\b{_table('first_person')}\b|[我私]")
_TAG = late_pattern(r"^\s*<(?:!doctype|[a-z][\w-]{0,30})\b[^<>\n]{0,300}>", re.IGNORECASE)
_TABLE_ROW = late_pattern(r"^[^,;\t\n]{0,60}(?:[,;\t][^,;\t\n ][^,;\t\n]{0,80}){2,}$")
_NESTED_FIELD = late_pattern(r"^ {1,12}[\w-]{1,30}: \S")
_FIELD_OPENER = late_pattern(r"^ {0,12}[\w-]{1,30}:\s*$")
_OPEN_QUOTE = late_pattern(r"^\s*(?:\"{1,3}|'{3}|[“„«「『])")
_CLOSINGS = {'"': '"', "“": "”", "„": "“”", "«": "»", "「": "」", "『": "』"}

# A request behind the text that it speaks of.
_RULE_LINE = late_pattern(r"^\s*(?:-{3,}|={3,}|\*{3,}|_{3,}|~{3,}|#{3,})\s*$")
_ABOVE = late_pattern(r"\b(?:above|oben|obige\w*|ci-dessus|arriba|anterior)\b|上面|以上|上の")
_POINTS = late_pattern(rf"\b{_POINTER}\b|[这那此上こ]")
_ELSEWHERE = late_pattern(rf"\b{_table('elsewhere')}\b|https?://")
_THIRD_PERSON = late_pattern(
    r"(?:^|(?<=[.!?\n]))\s*the user(?:['’]s)?\s[^.!?\n]*[.!?]*", re.IGNORECASE
)
_ASK_END = late_pattern(r"[.!?。！？]+(?=\s|$)|[。！？]|[:：](?!//)(?!\d)|\s[-–—]+(?=\s)")
_CLAUSE = late_pattern(r"[,;]\s+|\s+[-–—]+\s+")
_REWORK = late_pattern(rf"^{_POLITELY}\b(?:{_table('tasks')}|{_table('reworks')})\b")
"""Request to change a text, which may stand behind a dash."""
_AHEAD = late_pattern(_table("ahead"))
_QUOTED_SENTENCE = late_pattern(
    r"(?:^|(?<=[.!?:：\n\"”»] ))[\"“„«]([^\"“”„«»\n]{8,400}[.!?。])[\"”“»](?!\w)"
)
"""Whole sentence in quotation marks that stands where a sentence of the sender's would."""
_DASH = late_pattern(r"\s[-–—]+$")
_ADDRESS = late_pattern(r"^\s*(?:https?://\S+|www\.\S+)\s*")
"""Address that a request begins with: "https://… tl;dr?"."""
_BARE_TASK = late_pattern(rf"^{_POLITELY}\b(?:{_table('tasks')}|{_table('weak_tasks')})\W*$")
"""Request without an object: the lines that follow are the object."""
_OPEN_END = late_pattern(rf"\b{_table('open_ends')}$")
"""End of a line that goes on with the text of the next one: "one of the inputs is"."""
_PROMPT_LINE = late_pattern(
    r"^\s{0,4}(?:[$%]|>>>|PS [A-Za-z]:\\[^>\n]*>|[A-Za-z]:\\[^>\n]*>|[\w.-]+@[\w.-]+[^\n$#]{0,60}[$#]) ?[\w./~-]"
)
"""Line of a terminal, with its prompt."""
_COMMENT_LINE = late_pattern(r"^\s*(?:#|//|--|/\*|<!--) ?\S")
_CODE_LINE = late_pattern(
    r"^\s*(?:(?:def|class|import|from|return|const|let|var|function|func|fn|public|private|static|package|using|select|insert"
    r"|update|create|if|for|while|try|else|end|elif|switch|case|struct|impl|use|async|await|export|module|require)\b.*[(){};:=]"
    r"|[\w.\[\]]+ ?(?:=|:=|\+=|=>) ?\S.*|[})\]]+[;,]?\s*$|@\w+|\w+(?:\.\w+)*\([^)\n]*\)[;{:]?\s*$)",
    re.IGNORECASE,
)
_SALUTATION = late_pattern(r"^\W{0,3}[^\W\d_]{1,30}(?:[ .'’-]{1,2}[^\W\d_]{1,30}){0,3},\s*$")
"""Line that opens or closes a letter: "Dear reader,", "Best wishes,"."""
_SIGNATURE = late_pattern(
    r"^\W{0,3}(?:the )?[^\W\d_][\w.'-]{1,20}(?: [^\W\d_][\w.'-]{1,20}){0,2}\W{0,2}$"
)
_CLOSING_LINE = late_pattern(rf"^\W{{0,3}}{_table('closings')}\b[^.:!?]{{0,24}}[,.!]?\s*$")
_TABLE_LINE = late_pattern(r"^[^,;\t|\n ][^,;\t|\n]{0,60}([,;\t|])(?=\S)[^\n]*$")
_LEAST_ROWS = 3
_MAY_PASTE = (
    "\n",
    ":",
    "：",
    "<",
    "\u2028",
    "\u2029",
    "\x0b",
    "\x0c",
    "\r",
    " - ",
    " – ",
    " — ",
    ' "',
    "“",
    "„",
    "«",
)


@dataclass(frozen=True, slots=True)
class ForeignPart:
    """Part of a message that is not its sender's own."""

    start: int
    end: int
    reason: str
    """Such as "a forwarded message"."""


@dataclass(frozen=True, slots=True)
class _ForeignBeginning:
    """Beginning of a foreign text."""

    start: int
    """Position in the whole text."""
    reason: str


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int
    folded: str
    """Folded and without invisible characters, to be matched; positions are not the text's."""
    raw: str


def find_foreign_parts(text: str) -> tuple[ForeignPart, ...]:
    """Find the parts of a message that are not its sender's own words, in order, without overlap.

    Empty for most messages. Positions are those of ``text``. Never raises for any text.
    """
    if not holds_any(text, _MAY_PASTE) and not _GAME.search(_fold(text[:_LONGEST_ASK])):
        return ()
    return _find_parts(text)


def find_third_person(text: str) -> tuple[ForeignPart, ...]:
    """Find sentences about "the user", as which nobody speaks of themselves."""
    if "the user" not in text.lower():
        return ()
    return tuple(
        ForeignPart(match.start(), match.end(), "a statement about the user")
        for match in _THIRD_PERSON.finditer(text[:_LONGEST])
    )


def cut_parts(text: str, parts: Sequence[ForeignPart]) -> str:
    """Return a text without some parts of it, which may overlap. Empty if nothing is left."""
    pieces = []
    at = 0
    for part in _join_spans(parts, len(text)):
        # Without the colon of a request, the rest reads as a statement of its own.
        pieces.append(text[at : part.start].rstrip(" :："))
        at = part.end
    return "".join((*pieces, text[at:])).strip()


def blank_foreign_parts(text: str) -> str:
    """Return a text of the same length in which the foreign parts are blank."""
    for part in find_foreign_parts(text):
        blanks = re.sub(r"\S", " ", text[part.start : part.end])
        text = f"{text[: part.start]}{blanks}{text[part.end :]}"
    return text


def announces_foreign(text: str) -> bool:
    """True if a message says that the next one is a pasted text: "I'll send you an article"."""
    folded = _fold(text[-_LONGEST_ASK:]).strip()
    if _ANNOUNCED.search(folded):
        return True
    last_sentence = _ASK_END.split(folded.rstrip(" .!?:。！？："))[-1].strip()
    if folded.endswith((":", "：")) and _read_ask(last_sentence):
        return True
    return not folded.endswith("?") and bool(_SHOWN.search(last_sentence))


def choose_own_part(parts: Sequence[str]) -> str:
    """Return the part of a message that addresses the assistant, if a client sent several.

    The one that asks something; the first, if none asks. Empty: several ask, and any of them may be
    a pasted text.
    """
    asking = [part for part in parts if _asks(part)]
    if not asking:
        return next(iter(parts), "")
    return asking[0] if len(asking) == 1 else ""


def _asks(part: str) -> bool:
    head = _fold(part[:_LONGEST_ASK])
    return "?" in part or "？" in part or bool(_read_ask(head))


@text_cache(256)
def _find_parts(text: str) -> tuple[ForeignPart, ...]:
    """Find the parts, cached: one write asks for them several times."""
    lines = _split_lines(text[:_LONGEST])
    spans = _join_spans([*_find_shapes(text, lines), *_find_pasted(text, lines)], len(text))
    spans = _join_spans([*spans, *_find_asked_above(text, lines, spans)], len(text))
    return tuple(spans)


def _fold(text: str) -> str:
    """Fold a text without invisible characters and look-alike letters."""
    if text.isascii():
        return text.lower()
    folded = fold(_INVISIBLE.sub("", text))
    return folded.translate(_LOOKALIKES) if _MIXED.search(folded) else folded


def _split_lines(text: str) -> list[_Line]:
    """Split into lines that are not blank."""
    lines = []
    at = 0
    for raw in re.split("(?<=[\n\u2028\u2029\x0b\x0c\r])", text):
        if raw.strip():
            lines.append(_Line(at, at + len(raw), _fold(raw.strip("\n\u2028")), raw))
        at += len(raw)
    return lines


def _join_spans(parts: Sequence[ForeignPart], length: int) -> list[ForeignPart]:
    """Sort parts and join those that overlap; the first reason stays."""
    joined: list[ForeignPart] = []
    for part in sorted(parts, key=lambda part: (part.start, -part.end)):
        if joined and part.start <= joined[-1].end:
            last = joined.pop()
            joined.append(ForeignPart(last.start, max(last.end, part.end), last.reason))
        elif part.start < part.end:
            joined.append(ForeignPart(part.start, min(part.end, length), part.reason))
    return joined


def _find_pasted(text: str, lines: Sequence[_Line]) -> Iterator[ForeignPart]:
    """Find the line that begins a foreign text; what follows is foreign up to the end."""
    for index, line in enumerate(lines):
        if len(line.folded) > _LONGEST_ASK and ":" not in line.folded[:_LONGEST_ASK]:
            continue
        beginning = _find_beginning(lines, index)
        if beginning is not None:
            yield from _end_at_query(text, lines, beginning)
            return


def _find_beginning(lines: Sequence[_Line], index: int) -> _ForeignBeginning | None:
    """Find where a foreign text begins at this line; None: nowhere."""
    line = lines[index]
    reason = _read_mark(lines, index)
    if reason:
        return _ForeignBeginning(line.start, reason)
    has_more = index + 1 < len(lines)
    for start, end in _split_asks(line):
        sentence = line.folded[start:end]
        if line.folded[end - 1 : end] in (":", "："):
            head = sentence[:-1]
            text_behind = line.folded[end:].strip()
            if not text_behind and not has_more:
                continue
            if reason := _read_head(head):
                return _ForeignBeginning(line.start + _find_start(line, start, end), reason)
        elif _DASH.search(sentence):
            if line.folded[end:].strip() and _REWORK.search(sentence):
                return _ForeignBeginning(line.start + _find_start(line, start, end), _WORK)
        elif has_more and (reason := _read_ask(sentence)):
            return _ForeignBeginning(line.end, reason)
    if has_more and (
        _BARE_TASK.search(line.folded)
        or _breaks_off(line.folded)
        or (index == 0 and _points_ahead(line.folded))
    ):
        return _ForeignBeginning(line.end, _WORK)
    return None


def _points_ahead(first_line: str) -> bool:
    """True for a first line that asks about a thing which only the lines behind it can be.

    "Rank these slogans", "my server prints this, is it dangerous?": nothing before it has a name for
    the thing. A statement of the sender's own is none: "I like this week's menu".
    """
    line = first_line.strip()
    asks = line.endswith(("?", "？")) or not _FIRST_PERSON.search(line)
    return asks and bool(_AHEAD.search(line))


def _breaks_off(folded: str) -> bool:
    """True for a line that breaks off before somebody else's text: "one of the inputs is"."""
    line = folded.strip()
    last_sentence = line.rsplit(". ", 1)[-1]
    return " " in line and bool(_OPEN_END.search(line)) and not _FIRST_PERSON.search(last_sentence)


def _split_asks(line: _Line) -> Iterator[tuple[int, int]]:
    """Split the beginning of a line into sentences, and at its colons."""
    at = 0
    for match in _ASK_END.finditer(line.folded[:_LONGEST_ASK]):
        yield at, match.end()
        at = match.end()
    if line.folded[at:_LONGEST_ASK].strip():
        yield at, min(len(line.folded), _LONGEST_ASK)


def _find_start(line: _Line, start: int, end: int) -> int:
    """Return the position in the raw line of the sentence whose colon introduces a text.

    The sentence belongs to the text: "my colleague said" alone says something else. Where folding
    moved the characters, the text begins right after the colon.
    """
    is_aligned = len(line.folded) == len(line.raw.strip("\n\u2028"))
    return start if is_aligned else _find_colon(line, end)


def _find_colon(line: _Line, folded_end: int) -> int:
    """Return the position in the raw line right after the colon at ``folded_end``."""
    number = len(re.findall("[:：]", line.folded[:folded_end]))
    positions = [match.end() for match in re.finditer("[:：]", line.raw)]
    return positions[number - 1] if number <= len(positions) else len(line.raw)


def _read_mark(lines: Sequence[_Line], index: int) -> str:
    """Return why a line is itself the beginning of a foreign text."""
    folded = lines[index].folded
    if _MARK.search(folded):
        return "a forwarded or earlier message"
    if _RETRIEVED.search(folded):
        return _FROM_SEARCH
    if _ATTACHED.search(folded) and not _END_MARK.search(folded):
        return "an attached document"
    if _GAME.search(folded[:_LONGEST_ASK]):
        return "a game"
    if _SPEAKER_LINE.search(folded):
        return "a conversation of others"
    # A lone line with a time is a message of its own: "standup moved to 9:30".
    is_dated_line = len(lines) > 1 and _TIME.search(folded)
    if (is_dated_line or folded.lstrip().startswith("<")) and _CHAT_HEAD.search(folded):
        return "a conversation or a log"
    following = lines[index : index + 6]
    if (
        _MAIL_FIELD.search(folded)
        and sum(bool(_MAIL_FIELD.search(line.folded)) for line in following) > 1
    ):
        return "a mail"
    if (
        _PAGE_FIELD.search(folded)
        and sum(bool(_PAGE_FIELD.search(line.folded)) for line in following) > 1
    ):
        return "a web page"
    if folded.lstrip().startswith(">") and _TELLER.search(folded.rstrip(" :：")):
        return "an earlier message"
    return ""


def _read_head(head: str) -> str:
    """Return why the words before a colon introduce a foreign text."""
    sentence = head.strip()
    if any(_read_ask(clause) for clause in (sentence, *_CLAUSE.split(sentence))):
        return _WORK
    if _EXAMPLE_HEAD.search(sentence):
        return "an example"
    if _TELLER.search(sentence) or _HAN_TELLER.search(sentence):
        return "words of somebody else"
    is_own = _OWN_HEAD.search(sentence) or _OWN_THING.search(sentence)
    if " " in sentence and _THING_HEAD.search(sentence) and not is_own:
        return _OTHERS
    return ""


def _read_ask(sentence: str) -> str:
    """Return why what follows this sentence is foreign: it asks for work on it, or shows it."""
    sentence = _ADDRESS.sub("", sentence.strip())
    if _TASK.search(sentence) and '"' not in sentence:
        return _WORK
    if _WEAK_TASK.search(sentence) or _QUESTION.search(sentence):
        return _WORK
    if _HAN_ASK.search(sentence):
        return _WORK
    if _OWN_THING.search(sentence) and not _TASK.search(sentence):
        return ""
    if _SHOWN.search(sentence) or _HAN_TELLER.search(sentence):
        return _OTHERS
    if _ANNOUNCED.search(sentence) and "next" not in sentence:
        return _OTHERS
    return ""


def _end_at_query(
    text: str, lines: Sequence[_Line], beginning: _ForeignBeginning
) -> Iterator[ForeignPart]:
    """Yield the part from its beginning to the end of the text.

    In a template with retrieved texts and one query, the query is the sender's own.
    """
    start = beginning.start
    reason = beginning.reason
    queries = [line for line in lines if line.start >= start and _QUERY_LINE.search(line.folded)]
    if reason != _FROM_SEARCH or len(queries) != 1:
        yield ForeignPart(start, len(text), reason)
        return
    (query,) = queries
    yield ForeignPart(start, query.start + _find_colon(query, len(query.folded)), reason)
    field = next(
        (line for line in lines if line.start > query.start and _FIELD_LINE.search(line.folded)),
        None,
    )
    yield ForeignPart(query.end if field is None else field.start, len(text), reason)


def _find_shapes(text: str, lines: Sequence[_Line]) -> Iterator[ForeignPart]:
    """Find what its shape tells: markup, tables, nested fields, quotations, chats."""
    yield from _find_markup(text, lines)
    yield from _find_quotations(text, lines)
    for match in _QUOTED_SENTENCE.finditer(text[:_LONGEST]):
        head = _fold(text[max(0, match.start() - _LONGEST_ASK) : match.start()]).rstrip(" :：")
        if not _OWN_HEAD.search(head):  # "Remember this rule: "…"" makes the words one's own
            yield ForeignPart(match.start(), match.end(), "a quotation")
    yield from _find_chats(lines)
    yield from _find_letters(text, lines)
    yield from _find_terminals(text, lines)
    yield from _find_rows(lines)
    yield from _find_comments(lines)
    for before, line in zip((None, *lines), lines, strict=False):
        is_row = before is not None and bool(
            _TABLE_ROW.search(line.folded) and _TABLE_ROW.search(before.folded)
        )
        if is_row and before is not None:
            yield ForeignPart(before.start, line.end, "a table")
        is_nested = before is not None and (
            _FIELD_OPENER.search(before.folded) or _NESTED_FIELD.search(before.folded)
        )
        if is_nested and _NESTED_FIELD.search(line.folded):
            yield ForeignPart(line.start, line.end, "a configuration")


def _find_markup(text: str, lines: Sequence[_Line]) -> Iterator[ForeignPart]:
    """Find blocks of markup: from the first tag at a line's start to the last closing tag."""
    first = next((line for line in lines if _TAG.search(line.raw)), None)
    if first is not None:
        end = text.rfind("</")
        closing = text.find(">", end)
        is_closed = end > first.start and closing > 0
        yield ForeignPart(first.start, closing + 1 if is_closed else len(text), "markup")


def _find_quotations(text: str, lines: Sequence[_Line]) -> Iterator[ForeignPart]:
    """Find quotations that run over several lines."""
    for line in lines:
        match = _OPEN_QUOTE.search(line.raw)
        if match is None:
            continue
        mark = match[0].strip()
        closing = mark if len(mark) > 1 else _CLOSINGS[mark]
        begin = line.start + match.end()
        ends = [
            at
            for char in ([closing] if len(mark) > 1 else closing)
            if (at := text.find(char, begin)) > 0
        ]
        if ends and min(ends) >= line.end:
            yield ForeignPart(line.start, min(ends) + len(mark), "a quotation")


def _find_chats(lines: Sequence[_Line]) -> Iterator[ForeignPart]:
    """Find lines of several speakers: "Bob: I live here", "Eve: So do I"."""
    labelled = [
        (line, match[1], match[2])
        for line in lines
        if (match := _LABEL_LINE.search(line.folded)) and not _OWN_LABEL.search(match[1])
    ]
    speakers = {label for _, label, _ in labelled}
    if len(speakers) > 1 and any(_FIRST_PERSON.search(words) for _, _, words in labelled):
        yield from (ForeignPart(line.start, line.end, "a conversation") for line, _, _ in labelled)


def _find_letters(text: str, lines: Sequence[_Line]) -> Iterator[ForeignPart]:
    """Find a letter within a message: from its salutation, or the text before its signature.

    A message that begins with the salutation is itself the letter, to the assistant.
    """
    if _SALUTATION.search(lines[0].folded):
        return
    is_signed = len(lines) > 3 and bool(_SIGNATURE.search(lines[-1].folded))
    if is_signed and _CLOSING_LINE.search(lines[-2].folded):
        yield ForeignPart(lines[1].start, len(text), "a letter")
        return
    for line in lines[1:-2]:
        if _SALUTATION.search(line.folded):
            yield ForeignPart(line.start, len(text), "a letter")
            return


def _find_terminals(text: str, lines: Sequence[_Line]) -> Iterator[ForeignPart]:
    """Find what a terminal showed: from a line with its prompt to the end."""
    for line in lines[:-1]:
        if _PROMPT_LINE.search(line.raw):
            yield ForeignPart(line.start, len(text), "output of a terminal")
            return


def _find_rows(lines: Sequence[_Line]) -> Iterator[ForeignPart]:
    """Find three or more lines in a row with one separator, which no sentence has so: a table."""
    rows: list[_Line] = []
    separator = ""
    for line in (*lines, None):
        match = _TABLE_LINE.search(line.folded) if line is not None else None
        if line is not None and match is not None and (not rows or match[1] == separator):
            rows.append(line)
            separator = match[1]
            continue
        if len(rows) >= _LEAST_ROWS:
            yield ForeignPart(rows[0].start, rows[-1].end, "a table")
        rows = []


def _find_comments(lines: Sequence[_Line]) -> Iterator[ForeignPart]:
    """Find comments right before or behind a line of code."""
    for before, line in pairwise(lines):
        for comment, code in ((before, line), (line, before)):
            if _COMMENT_LINE.search(comment.raw) and _CODE_LINE.search(code.raw):
                yield ForeignPart(comment.start, comment.end, "a comment in code")


def _find_asked_above(
    text: str, lines: Sequence[_Line], parts: Sequence[ForeignPart]
) -> Iterator[ForeignPart]:
    """Find a text before the request that speaks of it: "Who wrote the text above?"."""
    own = [
        line
        for line in lines
        if not any(part.start < line.end and line.start < part.end for part in parts)
        and not _RULE_LINE.search(line.folded)
    ]
    if len(own) < 2 or own[-1] is not lines[-1]:
        return
    ask = own[-1].folded
    is_about_text = (
        _ABOVE.search(ask)
        or _QUESTION.search(ask)
        or (_POINTS.search(ask) and not _ELSEWHERE.search(ask))
    )
    is_request = _read_ask(ask.rstrip(" :")) or _ABOVE.search(ask)
    between = text[own[-2].start : own[-1].start]
    begins_paragraph = "\n\n" in between or len(between.splitlines()) > 1
    if is_about_text and is_request and begins_paragraph and len(ask) <= _LONGEST_ASK:
        yield ForeignPart(0, own[-1].start, _WORK)
