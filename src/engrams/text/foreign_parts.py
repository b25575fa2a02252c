"""Parts of a message that are not its sender's own words: pasted, forwarded, retrieved or quoted.

Enter at ``find_foreign_parts`` for the parts with their reasons, and at ``blank_foreign_parts`` for the
rest. A statement counts as the sender's only if it stands in the part that addresses the assistant.
Pure, without a model, for English, German, French, Spanish, Chinese and Japanese.

The text is read line by line. Some texts show by their shape what they are: markup, a quotation, a
chat, a mail's head. Elsewhere the sender's own lines tell where somebody else speaks (``line_voice``).
What follows such a line is foreign up to the end of the text, because nothing but the sender knows
where it ends; what stands before a last line that speaks of it is foreign, too.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from functools import partial

from engrams.frozen_data import dataclass
from engrams.text import line_voice
from engrams.text.late_patterns import holds_any, late_pattern
from engrams.text.line_voice import fold_disguised
from engrams.text.text_caches import text_cache
from engrams.text.vocabulary import read_patterns

_LONGEST = 20_000
"""Characters of a text that are read; all behind them is foreign if the text pastes anything."""
_LONGEST_ASK = 400
"""Characters of a line from which it is no request."""
ANNOUNCED = "the message before announced it, or asked for it, as a text to work on"
"""Reason for a whole message that is foreign."""
_WORK = "a text to work on"
_OTHERS = "a text of somebody else"
_FROM_SEARCH = "retrieved text"
_TITLED = "a text with a title"

_table = partial(read_patterns, __file__, "foreign")

# Lines that a foreign text begins with.
_MARK = late_pattern(rf"^[\W_]*{_table('marks')}")
_RETRIEVED = late_pattern(_table("retrieved"))
_ATTACHED = late_pattern(_table("attached"))
_GAME = late_pattern(
    rf"\b{_table('games')}\b|来(?:玩|做)?角色扮演|我来?[演扮][^。！？\n]{{1,10}}你来?[演扮]"
    r"|你来?[演扮][^。！？\n]{1,10}我来?[演扮]|ロールプレイ(?:を?しよう|をして)|私が[^。\n]{1,10}役"
)
_MAIL_FIELD = late_pattern(rf"^\W{{0,3}}{_table('mail_fields')} ?[:：]")
_FIELDS_BESIDE = 6
"""Lines from the first field of a mail's head in which there is another."""
_CHAT_HEAD = late_pattern(_table("chat_heads"))
_TIME = late_pattern(r"\d{1,2}:\d{2}|\d{4}-\d\d-\d\d")
_SPEAKER_LINE = late_pattern(
    rf"^\W{{0,4}}{_table('speakers')}(?: ?\([^)\n]{{0,30}}\))? ?[:：]\s*\S"
)
_ADDRESSED_LINE = late_pattern(r"^(?:system|assistant|ai|bot|chatbot): [^:]*$")
"""Only line of a message, to the assistant or about a system: "system: my laptop runs hot"."""
_QUERY_LINE = late_pattern(rf"^\W{{0,4}}{_table('queries')} ?[:：]")
_FIELD_LINE = late_pattern(
    r"^\W{0,4}(?:context|answer|sources?|documents?|helpful answer|response) ?:"
)
_LAST_PART = late_pattern(
    r"^\W{0,3}(\d+) ?/ ?\1\b|^\W{0,3}(?:part|teil|partie|parte) (?:[2-9]|1\d)\b"
)
"""Number of a text's last part, which was sent in several messages."""

_PART = late_pattern(r"\W{0,3}(\d{1,2}) ?/ ?(\d{1,2})\b")

_INSTRUCTIONS = late_pattern(
    r"[\W_]*how to \w[^.:\n]{1,80}[.:\n].{0,600}?\b(?:steps|instructions)(?: ?:|\n)",
    re.IGNORECASE | re.DOTALL,
)
"""Procedure with its sections: "How to deploy. Prerequisites: … Steps: …"."""

# Shapes of texts that nobody types to an assistant.
_LABEL_LINE = late_pattern(
    r"^\W{0,4}([^\W\d_][\w.'-]{0,20}(?: [^\W\d_][\w.'-]{0,20}| \d{3,6})?) ?(?:\([^)\n]{0,30}\))? ?[:：]\s*(\S.*)$"
)
_DASHED_LINE = late_pattern(r"^\W{0,4}([^\W\d_][\w.'-]{0,20}) [-–—] (\S.*)$")
"""Line of notes on who said what: "Ravi - I use the new one"."""
_CUE_LINE = late_pattern(r"^\W{0,4}([^\W\d_][\w.'-]{0,20}) ?(?:\([^)\n]{0,30}\))? ?[:：]\s*$")
"""Line of a speaker who has yet to speak, at the end of a dialogue."""
_TAG = late_pattern(r"^\s*<(?:!doctype|[a-z][\w-]{0,30})\b[^<>\n]{0,300}>", re.IGNORECASE)
_ANY_TAG = late_pattern(r"</?[a-z][\w-]{0,30}(?:\s[^<>\n]{0,300})?>", re.IGNORECASE)
_COMMENT = late_pattern(
    r"^\s*(?:#\s*(?:todo|fixme|hack|xxx)\b|//|/\*).*$|<!--.*?(?:-->|$)|\\begin\{.*?(?:\\end\{\w+\}|$)",
    re.IGNORECASE,
)
"""Comment of code or of a page, and an environment of LaTeX."""
_OPEN_QUOTE = late_pattern(r"^\s*(?:\"{1,3}|'{3}|[“„«「『])")
_CLOSINGS = {'"': '"', "“": "”", "„": "“”", "«": "»", "「": "」", "『": "』"}
_QUOTED_SENTENCE = late_pattern(
    r"(?:^|(?<=[.!?:：\n\"”»] )|(?<=[(=\[{]))[\"“„«]([^\"“”„«»\n]{8,400}[.!?。])[\"”“»](?!\w)"
)
"""Whole sentence in quotation marks that stands where a sentence of the sender's would."""
_QUOTED_SENTENCES = late_pattern(
    r"(?<![\w\"“”„«»])[\"“„«](?=\S)[^\"“”„«»\n]{2,300}[.!?]\s[^\"“”„«»\n]{2,300}(?<=\S)[\"“”»](?!\w)"
)
"""Several sentences in quotation marks, wherever they stand."""
_HAN_QUOTED = late_pattern(
    "(?<![:：])[「『](?=[^」』\n]*[。！？我你您私僕俺])[^」』\n]{8,400}[」』]"
)
"""Sentence or words of a speaker in corner brackets, which also mark names: 我在「…医院」工作."""
_QUOTED_WORDS = late_pattern(r"(?<=[:：])\s*[\"“„«「][^\"”“»」\n]{12,}[\"”“»」]")
"""Words of somebody, quoted after a colon."""
_SPOKEN_OF = late_pattern(
    r"^.*[.!?…][\"'”»]?\s+(?:--|—|–|-)\s+"
    r"(?=(?:is|was|are|says?|said|reads?|so|ist|sagt|est|dit|es|dice)\b)"
)
"""Text that the rest of its line speaks of: "… -- is what the sticker says"."""
_ARROW = late_pattern(rf"(?:->|=>|→|⇒|>>)\s*(?=(?:{_table('first_person')}|{_table('orders')})\b)")
"""Sign before what something gave back: "the function returned -> I …"."""
_POINTED_AT = late_pattern(r"^.*\S\s*(?:<-+|<=+|←)\s")
"""Text that the rest of its line points at: "… <- is that British?"."""
_HIDDEN = late_pattern(
    "[\u202d\u202e\u2061-\u2064]|(?<![\U0001f3f4\U000e0020-\U000e007f])[\U000e0020-\U000e007f]"
)
"""Characters that hide or turn what stands behind them. Those of a flag follow its black flag."""
_LETTER_HEAD = late_pattern(
    r"^\W{0,3}(?:dear|liebe[rs]?|sehr geehrte[rs]?|cher|chere|querid[oa]s?|estimad[oa]s?) "
    r"[^.!?:\n]{1,40},\s*\S"
)
"""Line with which a letter begins: "Dear all, I work at …"."""
_LETTER_WITHIN = late_pattern(
    r"(?<=[.!?:] )(?:dear|liebe[rs]?|sehr geehrte[rs]?|cher|chere|querid[oa]s?|estimad[oa]s?) "
    r"[^\W\d_]{2,30}(?: [^\W\d_]{2,30})?, (?=\S)"
)
"""The same within a line, behind a sentence: "An old card. Dear Elsa, I …"."""
_SALUTATION = late_pattern(r"^\W{0,3}[^\W\d_]{1,30}(?:[ .'’-]{1,2}[^\W\d_]{1,30}){0,3},\s*$")
"""Line that opens or closes a letter: "Dear reader,", "Best wishes,"."""
_SIGNATURE = late_pattern(
    r"^\W{0,3}(?:your|yours|deine?|euer|eure|ihre?|ton|ta|votre|tu|su) [^\W\d_]{1,20}\W*$"
)
"""Line of a letter's writer: "Your Finn"."""
_LINES_OF_LETTER = 4
"""Lines of a letter and of the question behind it, at least."""
_FENCED = late_pattern(r"^ {0,3}(?:```|~~~).*?^ {0,3}(?:```|~~~)[^\n]*$", re.MULTILINE | re.DOTALL)
_THIRD_PERSON = late_pattern(
    r"(?:^|(?<=[.!?\n]))\s*the user(?:['’]s)?\s[^.!?\n]*[.!?]*", re.IGNORECASE
)
_ASK_END = late_pattern(
    r"[.!?。！？]+(?=\s|$|[\u3040-\u9fff])|[。！？]|[:：](?!//)(?!\d)|\s[-–—]+(?=\s)"
)
_DASH = late_pattern(r"\s[-–—]+$")
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
    " -- ",
    "/",
    "->",
    "=>",
    "→",
    "⇒",
    ">>",
    "<-",
    "<=",
    "←",
    "[",
    "「",
    "『",
    "\\",
    ' "',
    "“",
    "„",
    "«",
    "follow",
    "folgende",
    "suit",
    "siguiente",
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
    return _find_parts(text)


def _shows_alone(text: str) -> bool:
    """True if a text may hold a foreign one although it has no sign for it."""
    head = fold_disguised(text[:_LONGEST_ASK])
    ends = [0, *(match.end() for match in _ASK_END.finditer(head))]
    sentences = [head[start:end] for start, end in itertools.pairwise(ends)]
    return bool(
        _GAME.search(head)
        or line_voice.find_voice(head) >= 0
        or any(
            line_voice.asks_alone(sentence, is_first=index == 0)
            for index, sentence in enumerate(sentences)
        )
        or _HIDDEN.search(text)
        or _LETTER_WITHIN.search(head)
    )


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


def blank_quoted_words(text: str) -> str:
    """Return a text of the same length in which words quoted after a colon are blank."""
    return _QUOTED_WORDS.sub(lambda match: " " * len(match[0]), text)


def announces_foreign(text: str) -> bool:
    """True if a message says that the next one is a pasted text: "I'll send you an article"."""
    return line_voice.announces_text(fold_disguised(text[-_LONGEST_ASK:]).strip())


def count_announced(text: str) -> int:
    """Return of how many next messages a message says that they are texts to work on.

    "Translate everything I send" and "in two parts". 0: it says so of none.
    """
    return line_voice.count_announced(fold_disguised(text[:_LONGEST_ASK]))


def ends_announced(text: str) -> bool:
    """True for a message that only says that all was sent: "done", "that's it"."""
    return line_voice.ends_announced(fold_disguised(text[:_LONGEST_ASK]))


def awaits_foreign(messages: Sequence[tuple[str, str]]) -> bool:
    """True if the next message of the user is a text to work on, as those before it tell.

    ``messages``: roles and texts, of the user and the assistant, in order.
    """
    awaited_count = 0
    for role, text in messages:
        if role == "user":
            awaited_count = max(count_announced(text), awaited_count - 1, announces_foreign(text))
            if ends_announced(text):
                awaited_count = 0
        elif asks_for_foreign(text):
            awaited_count = max(awaited_count, 1)
    return bool(awaited_count)


def find_next_part(text: str) -> str:
    """Return how the next part of a text begins that is sent in parts: "3/4" after "2/4".

    Empty: the message does not begin with such a number, or it is the last part.
    """
    match = _PART.match(text)
    if match is None:
        return ""
    number = int(match[1])
    count = int(match[2])
    return f"{number + 1}/{count}" if 0 < number < count else ""


def asks_for_foreign(answer: str) -> bool:
    """True if an assistant asks for a text to work on: "paste the text you'd like me to check"."""
    return line_voice.asks_for_text(fold_disguised(answer[-_LONGEST_ASK:]))


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
    head = fold_disguised(part[:_LONGEST_ASK])
    return "?" in part or "？" in part or line_voice.asks_for_work(head)


@text_cache(256)
def _find_parts(text: str) -> tuple[ForeignPart, ...]:
    """Find the parts, cached: one write asks for them several times."""
    if not holds_any(text, _MAY_PASTE) and not _shows_alone(text):
        return ()
    readable = _FENCED.sub(lambda match: " " * len(match[0]), text[:_LONGEST])
    lines = _split_lines(readable)
    if not lines:
        return ()
    if _LAST_PART.search(lines[0].folded):
        return (ForeignPart(0, len(text), "a part of a text"),)
    shapes = [*_find_shapes(text, lines)]
    if _INSTRUCTIONS.match(text):
        # The heads of a procedure's sections hand over to nobody.
        return tuple(_join_spans(shapes, len(text)))
    spans = _join_spans([*shapes, *_find_pasted(text, lines)], len(text))
    return tuple(_join_spans([*spans, *_find_spoken_of(lines, spans)], len(text)))


def _split_lines(text: str) -> list[_Line]:
    """Split into lines that are not blank."""
    lines = []
    at = 0
    for raw in re.split("(?<=[\n\u2028\u2029\x0b\x0c\r])", text):
        if raw.strip():
            lines.append(_Line(at, at + len(raw), fold_disguised(raw.strip("\n\u2028")), raw))
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
    if reason := _read_mark(lines, index):
        return _ForeignBeginning(line.start, reason)
    following = lines[index + 1].folded if index + 1 < len(lines) else ""
    if beginning := _find_within(line, following):
        return beginning
    if following and line_voice.hands_over(line.folded):
        is_title = line_voice.is_title(line.folded)
        return _ForeignBeginning(line.end, _TITLED if is_title else _WORK)
    return None


def _find_within(line: _Line, following: str) -> _ForeignBeginning | None:
    """Find a sentence of a line that hands over to what stands behind it.

    ``following``: the next line; empty: this is the last one.
    """
    is_shown = False
    for start, end in _split_asks(line):
        sentence = line.folded[start:end]
        behind = line.folded[end:].strip()
        at = line.start + _find_start(line, start, end)
        if sentence.endswith((":", "：")):
            is_text_shown = is_shown or not behind
            reason = line_voice.introduces(
                sentence[:-1], behind or following, is_shown=is_text_shown
            )
            if reason and (behind or following):
                return _ForeignBeginning(at, reason)
        elif behind and _DASH.search(sentence) and line_voice.asks_before_dash(sentence):
            return _ForeignBeginning(at, _WORK)
        elif behind and line_voice.ends_with_following(sentence):
            return _ForeignBeginning(line.start + _find_start(line, end, end), _WORK)
        elif following and line_voice.asks_for_work(sentence):
            return _ForeignBeginning(line.end, _WORK)
        elif (behind or following) and line_voice.asks_alone(sentence, is_first=start == 0):
            return _ForeignBeginning(line.start + _find_start(line, end, end), _WORK)
        is_shown = is_shown or line_voice.shows_text(sentence)
    return None


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
    return positions[number - 1] if 0 < number <= len(positions) else len(line.raw)


def _read_mark(lines: Sequence[_Line], index: int) -> str:
    """Return why a line is itself the beginning of a foreign text."""
    folded = lines[index].folded
    marks = (
        (_MARK, "a forwarded or earlier message"),
        (_RETRIEVED, _FROM_SEARCH),
        (_ATTACHED, "an attached document"),
        (_SPEAKER_LINE, "a conversation of others"),
    )
    for pattern, reason in marks:
        if pattern.search(folded) and not (len(lines) == 1 and _ADDRESSED_LINE.search(folded)):
            return reason
    if _GAME.search(folded[:_LONGEST_ASK]):
        return "a game"
    # A lone line with a time is a message of its own: "standup moved to 9:30".
    is_dated_line = len(lines) > 1 and _TIME.search(folded)
    if (is_dated_line or folded.lstrip().startswith("<")) and _CHAT_HEAD.search(folded):
        return "a conversation or a log"
    following = lines[index : index + _FIELDS_BESIDE]
    fields = sum(bool(_MAIL_FIELD.search(line.folded)) for line in following)
    return "a mail" if fields > 1 and _MAIL_FIELD.search(folded) else ""


def is_query_label(head: str) -> bool:
    """True for the folded label before a template's query, which is the sender's own: "query:"."""
    return bool(_QUERY_LINE.search(head))


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


def _find_spoken_of(lines: Sequence[_Line], parts: Sequence[ForeignPart]) -> Iterator[ForeignPart]:
    """Find a text before the request that speaks of it: "Who wrote the text above?".

    Not so where the last line belongs to a text itself. A title is a line of a page, or a request.
    """
    last = lines[-1]
    texts = [part for part in parts if part.reason != _TITLED]
    own = [
        line
        for line in lines
        if not any(part.start < line.end and line.start < part.end for part in texts)
    ]
    if len(own) > 1 and own[-1] is last and line_voice.speaks_of(last.folded, own[-2].folded):
        yield ForeignPart(0, last.start, _WORK)


def _find_shapes(text: str, lines: Sequence[_Line]) -> Iterator[ForeignPart]:
    """Find what its shape tells: markup, quotations, chats, letters."""
    yield from _find_markup(text, lines)
    yield from _find_quotations(text, lines)
    sentences = (
        match
        for match in _QUOTED_SENTENCES.finditer(text[:_LONGEST])
        if line_voice.may_teach(fold_disguised(match[0]))
    )
    wholes = (pattern.finditer(text[:_LONGEST]) for pattern in (_QUOTED_SENTENCE, _HAN_QUOTED))
    for match in itertools.chain(sentences, *wholes):
        head = fold_disguised(text[max(0, match.start() - _LONGEST_ASK) : match.start()])
        # "Remember this rule: "…"" makes the words one's own.
        if not line_voice.is_own_head(head.rstrip(" :：")):
            yield ForeignPart(match.start(), match.end(), "a quotation")
    for line in lines:
        if spoken_of := _SPOKEN_OF.search(line.raw) or _POINTED_AT.search(line.raw):
            yield ForeignPart(line.start, line.start + spoken_of.end(), _OTHERS)
        voice_start = line_voice.find_voice(line.folded)
        if voice_start >= 0:
            is_aligned = len(line.folded) == len(line.raw.strip("\n\u2028"))
            yield ForeignPart(line.start + voice_start * is_aligned, len(text), _OTHERS)
        if letter := _LETTER_WITHIN.search(line.folded):
            is_aligned = len(line.folded) == len(line.raw.strip("\n\u2028"))
            yield ForeignPart(line.start + letter.start() * is_aligned, len(text), "a letter")
        if comment := _COMMENT.search(line.raw):
            yield ForeignPart(line.start + comment.start(), line.start + comment.end(), "markup")
        if arrow := _ARROW.search(line.folded):
            is_aligned = len(line.folded) == len(line.raw.strip("\n\u2028"))
            yield ForeignPart(line.start + arrow.start() * is_aligned, len(text), _OTHERS)
    if hidden := _HIDDEN.search(text):
        yield ForeignPart(hidden.start(), len(text), "hidden text")
    yield from _find_chats(lines)
    # A message that begins with a salutation is itself the letter, to the assistant.
    if not _SALUTATION.search(lines[0].folded):
        letters = (line for line in lines[1:-2] if _SALUTATION.search(line.folded))
        yield from (ForeignPart(line.start, len(text), "a letter") for line in letters)
        heads = (line for line in lines[1:] if _LETTER_HEAD.search(line.folded))
        yield from (ForeignPart(line.start, len(text), "a letter") for line in heads)
    else:
        yield from _find_letter(lines)


def _find_markup(text: str, lines: Sequence[_Line]) -> Iterator[ForeignPart]:
    """Find blocks of markup: from the first tag at a line's start to the last closing tag."""
    first = next((line for line in lines if _TAG.search(line.raw)), None)
    if first is not None:
        end = text.rfind("</")
        closing = text.find(">", end)
        is_closed = end > first.start and closing > 0
        yield ForeignPart(first.start, closing + 1 if is_closed else len(text), "markup")
    tags = [*_ANY_TAG.finditer(text)] if "</" in text else []
    if len(tags) > 1:
        yield ForeignPart(tags[0].start(), tags[-1].end(), "markup")


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


def _find_letter(lines: Sequence[_Line]) -> Iterator[ForeignPart]:
    """Find a whole letter that a question of the sender's stands behind: "Is that too stiff?"."""
    if len(lines) < _LINES_OF_LETTER:
        return
    *letter, last = lines
    is_to_somebody = " " in lines[0].folded.strip()
    is_signed = any(_SIGNATURE.search(line.folded) for line in letter[1:]) or any(
        line_voice.is_closing(line.folded) for line in letter[1:-1]
    )
    if is_to_somebody and is_signed and line_voice.asks_of_others(last.folded):
        yield ForeignPart(0, last.start, "a letter")


def _find_chats(lines: Sequence[_Line]) -> Iterator[ForeignPart]:
    """Find lines of several speakers: "Bob: I live here", "Eve: So do I"."""
    # "Tea - I prefer green" is one's own, and no question about it follows.
    are_notes = line_voice.asks_of_others(lines[-1].folded)
    labelled = [
        (line, match[1], match[2])
        for line in lines
        if (
            match := _LABEL_LINE.search(line.folded)
            or (_DASHED_LINE.search(line.folded) if are_notes else None)
        )
        and not line_voice.is_own_label(match[1])
    ]
    speakers = {label for _, label, _ in labelled}
    if labelled and (cue := _CUE_LINE.search(lines[-1].folded)):
        speakers |= {cue[1]} if not line_voice.is_own_label(cue[1]) else set()
    if len(speakers) > 1 and any(line_voice.is_first_person(words) for *_, words in labelled):
        yield from (ForeignPart(line.start, line.end, "a conversation") for line, _, _ in labelled)
