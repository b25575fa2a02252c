"""Standing instructions: rules, bans, procedures, names to use."""

from __future__ import annotations

import re

from engrams.core import Kind
from engrams.extract.candidate import CandidateStatement
from engrams.extract.rules.answer_rules import find_answer_rule
from engrams.extract.rules.clause_quote import collapse_space, trim_quote
from engrams.extract.rules.conventions import find_convention, is_decision
from engrams.extract.rules.english_lexicon import find_lemma
from engrams.extract.rules.project_rules import RuleForm, find_project_rule
from engrams.extract.rules.sentence_segmenter import TextSentence
from engrams.extract.rules.utterance import UtteranceContext
from engrams.frozen_data import dataclass, replace
from engrams.text.acknowledgements import cut_opening
from engrams.text.late_patterns import holds_any, late_pattern
from engrams.text.terms import terms
from engrams.text.vocabulary import read_vocabulary, word_set

_REMEMBER = re.compile(
    r"^\W*(?:(?:please|pls|hey|also|and|ok|okay|oh)\W+)*(?:(?:can|could|would) you (?:please )?)?"
    r"(?:remember|note(?! book)|keep in mind|make a note|take note|don't forget|do not forget|never"
    r" forget|for the record"
    r"|fyi|for your information|save this|merk dir|denk daran|recuerda|souviens-toi|n'oublie pas)"
    r"(?:\s++(?:that|this|dass|que))?(?:\s*+[:,])?\s++"
    r"|^\W*(?:请|請|你|帮我|幫我|麻烦|给我)*(?:[记記]一下|[记記]下来?|[记記]住|备注一下|覚えて(?:おいて)?(?:ください)?)[，,：:。、\s]*+",
    re.IGNORECASE,
)
_REMEMBER_BEHIND = late_pattern(
    r"(?:^|[,;:]\s*|\s[–—-]\s*|\s(?=and\b))\W*(?:(?:and|also|so|please|pls|plz|und|bitte|y|et)\W+)*"
    r"(?:(?:remember|note|don't forget|do not forget) (?:that|this|it)|(?:keep|bear) (?:that|this|it) in mind"
    r"|merke? (?:es )?dir(?: das| es)?|vergiss das nicht|denk (?:bitte )?dr?an|recu[ée]rdalo|no lo olvides"
    r"|retiens[ -](?:le|ça)|n'oublie pas ça)"
    r"(?:[,\s]+(?:please|pls|plz|ok|okay|thanks|thx|bitte|for (?:later|next time|the future)))*[\s.!]*$"
    r"|[，,。、\s](?:请|請)?(?:[记記]住|[记記]下来?)[\s。！]*$",
    re.IGNORECASE,
)
"""Request behind what is to be remembered: "migrations need a down step, remember that"."""
_RECALLED = re.compile(r"[^.!?\n]{1,300}\?")
"""Rest of a question: ``remember that block in Game 7?``."""
_FIRST = re.compile(
    r"^\W*(?:(?:please|pls|hey|also|and|but|ok|okay|so|oh|yes|no|listen|again)\W+)*", re.IGNORECASE
)
_WANT = (
    r"(?:(?:i(?:'d| would)? (?:want|like|need|prefer|ask|expect)(?: for)? you to|you"
    r" (?:should|must|need to|have to|are to)"
    r"|(?:please )?make sure (?:to|that you|you)|be sure to|try to|remember to)\s++)?"
)
_ALWAYS = re.compile(
    r"(?:(?:from now on|from here on|going forward|in (?:the )?future|for all future \w+|by"
    rf" default)\W+(?:please\W+)?{_WANT}(?P<a>.+)"
    rf"|{_WANT}(?:please )?always\s+(?P<b>.+)|{_WANT}(?P<c>.+?)(?<=\w)\W++(?:from now on|from here"
    r" on|going forward"
    r"|in (?:the )?future|by default|every (?:single )?time)"
    r"(?:,? (?:and )?(?:not|instead of|rather than) [^,.;]{1,60})?)$",
    re.IGNORECASE | re.DOTALL,
)
_NEVER = re.compile(
    rf"(?:(?:from now on|going forward|in (?:the )?future)\W+)?(?:please )?{_WANT}(?:never(?:"
    r" ever)?|don't ever|do not ever"
    rf"|don't you ever|not ever|under no circumstances(?: should you)?)\s+(?P<a>.+)$"
    r"|(?:from now on|going forward|in (?:the )?future)\W+(?:please )?(?:don't|do"
    r" not|stop|avoid)\s+(?P<b>.+)$"
    r"|(?:please )?(?:don't|do not|stop|avoid)\s++(?P<c>.+?)(?<=\S)\s++(?:from now"
    r" on|ever|again|anymore|any more|in (?:the )?future|on any account|under any circumstances|no matter what)$",
    re.IGNORECASE | re.DOTALL,
)
# What matches holds one of these: looking for them is cheaper than matching, for each sentence of
# each write.
_ALWAYS_WORDS = (
    "from now on",
    "from here on",
    "going forward",
    "future",
    "default",
    "always",
    "every",
)
_NEVER_WORDS = ("ever", "circumstances", "don't", "do not", "stop", "avoid")
_USE_NEVER = re.compile(
    r"(?:always )?use (?P<a>[\w.+#-]+(?: [\w.+#-]+)?),? (?:and )?never (?:use )?(?P<b>[\w.+#-]+(?:"
    r" [\w.+#-]+)?)$",
    re.IGNORECASE,
)
_WHEN = re.compile(
    (
        r"(?:whenever|every time|each time|anytime|any time|when(?:ever)?)\s+(?P<a>(?:i|you|we|the"
        r" user|someone|there|a|an|the"
        r"|it)\b[^,]{3,120}),\s*(?:then\s+)?(?:please\s+)?(?:you"
        r" (?:should|must)\s+)?(?P<b>(?!(?:i|we|it|he|she|they|my|the"
        r"|there|that|this)\b)\w.{3,400})$"
    ),
    re.IGNORECASE | re.DOTALL,
)
_CALL_ME = re.compile(
    (
        r"(?:(?:you can|please|just|everyone|people|friends|my friends|they"
        r" all)\s+)*(?:calls?|address) me\s+(?P<a>(?!(?:when|if"
        r"|back|at|on|later|a|an|the|again|tomorrow|crazy|out|and|maybe|to|in)\b)[\w][\w'.-]*(?:"
        r" [A-Z][\w'.-]*)?)(?:[,.!]|$"
        r"| instead| for short| from now on)"
    ),
    re.IGNORECASE,
)
_HEDGES = (
    r"(?:(?:i (?:guess|think|suppose|feel|believe)(?: that)?|maybe|perhaps|probably|it seems(?:"
    r" that)?)\W+)"
)
_WISH = re.compile(
    rf"(?:{_HEDGES}*(?:and |you know )?i(?:'d| would)? (?:(?:kind|sort) of |rather |really |just"
    r" )*(?:prefer|like|love|appreciate) it"
    r" (?:when|if) you (?P<a>.+)"
    rf"|{_HEDGES}+i(?:'d| would)? (?:(?:kind|sort) of |rather )*(?:prefer|like)"
    r" (?P<b>.{1,60}\b(?:answers?|replies|responses?"
    r"|explanations?|summaries)))$",
    re.IGNORECASE | re.DOTALL,
)
_REPORTED = late_pattern(
    r",\s(?:[\w'’-]+\s){0,4}(?:says|said|told (?:us|me|him|her|them)|sagte?|meinte?|steht|dice|dijo|dit|disait|ai-je dit)\b"
    r"[^,]{0,30}$",
    re.IGNORECASE,
)
"""End of what somebody else wants, or the speaker told somebody else: "never lend tools, my dad says"."""
_UNSURE = 0.4
"""Confidence of a wish that is only implied."""
_ASKED = re.compile(r"\b(?:when|whenever|if) (?:i|we|you|asked)\b", re.IGNORECASE)
"""Occasion of a rule, beside which any verb is an instruction: "always tailor … when I ask"."""
_NO_BANS = word_set("have be forget mind give know worry say")
"""Verbs that make no ban after "don't" or "never": "don't worry"."""
_IMPERATIVE = word_set(read_vocabulary(__file__, "imperative"))
_STEPS = re.compile(
    (
        r"(?:^|\n)[^\w\n]*+(?:(?:here(?:'s| is) )?(?:how (?:to|i|we)|(?:the"
        r" )?(?:steps|process|procedure|workflow|recipe|way) (?:to"
        r"|for|i use to|we use"
        r" to)|to)\s++)(?P<name>[^:\n.,]{3,80}?)(?:\s*+(?:is|are|:\s*+$))?\s*+[:,]\s*+(?P<body>.{10,2000})"
    ),
    re.IGNORECASE | re.DOTALL,
)
_ITEM = re.compile(
    r"(?<!\S)(?:step )?(?:\d{1,2}[.):]|[-*•])\s++(.+?)(?<=\S)"
    r"(?=\s++(?:step )?(?:\d{1,2}[.):]|[-*•])\s|[^\S\n]*+\n[^\S\n]*+\n|\s*+\Z)",
    re.IGNORECASE | re.DOTALL,
)
_HOW_TO = re.compile(
    r"\W*(?:please )?(?:remember |note )?(?:here(?:'s| is) )?how"
    r" (?:to|i|we)\s++(?P<name>[^:\n.!?]{3,80}?)[*_]*+[^\S\n]*+[.:!\n]"
    r"\s*+(?P<body>.{10,5000})",
    re.IGNORECASE | re.DOTALL,
)
_HEADING = re.compile(r"^[^\S\n]*+#{1,6}[^\S\n]++([^\n]*+)", re.MULTILINE)
_SECTION = re.compile(
    r"(?<![\w*])[*_]{0,3}(?<![^\W_])"
    r"(?P<label>prerequisites?|requirements?|required|before you (?:start|begin)|you(?:'ll)?"
    r" need|needs|steps?|instructions?"
    r"|warnings?|caution|danger)[*_]{0,3}\s*:[*_]{0,3}",
    re.IGNORECASE,
)
_NEEDS = re.compile(r"\s*(?:;|\n|,\s*(?:and\s)?|\band\b|\.\s)\s*", re.IGNORECASE)
_WARNS = re.compile(r"\s*(?:;|\n|(?<=[.!])\s)\s*")
_THEN = re.compile(
    r"(?:(?<!\s)\s*+[,;])?(?:(?<!\s)\s++)?(?:and\s++)?"
    r"\b(?:first|second|third|then|next|after that|afterwards|finally|lastly)\b,?\s*",
    re.IGNORECASE,
)

_CORRECTION = re.compile(
    r"\W*(?:(?:oh|ah|hm+|ok|okay|well|but)\b[\s,:.]*)*"
    r"(?:(?:wait|hang on|nein|doch|no|nope|nah|sorry|oops|correction|scratch that|strike that|i was wrong|my mistake"
    r"|my bad|wrong|korrektur|quatsch|moment|falsch|perdón|corrección|mejor dicho|non|pardon|en fait)\b\s*[,;:.!–-]+\s*"
    r"|(?:no,? wait|oh no|actually|nein doch)\b[\s,;:.!–-]+(?!not\b))+",
    re.IGNORECASE,
)
"""Words that take back what was said before: "no wait, …"."""

DECISION = "decision"
"""Category of a rule that was chosen, and holds until another replaces it."""


@dataclass(frozen=True, slots=True)
class RememberRequest:
    """Text without its ``remember that``; ``explicit``: it had one."""

    text: str
    at: int
    explicit: bool


def parse_remember(text: str) -> RememberRequest:
    """Parse ``please remember that …``."""
    match = _REMEMBER.match(text)
    if match and "you" not in match[0].lower() and _RECALLED.match(text, match.end()):
        match = None
    return (
        RememberRequest(text[match.end() :], match.end(), True)
        if match
        else RememberRequest(text, 0, False)
    )


def cut_request_behind(sentence: str) -> str | None:
    """Cut ``…, remember that`` from the end of a sentence; None: it has none."""
    match = _REMEMBER_BEHIND.search(sentence)
    return sentence[: match.start()] if match else None


def extract_command(
    sentence: TextSentence, text: str, speech: UtteranceContext, *, has_fact: bool = False
) -> CandidateStatement | None:
    """Extract a lasting rule from one sentence; one behind "no wait, …" corrects another.

    None for a request about this turn only. ``has_fact``: a fact with its slot was made of the
    sentence, which a convention that is told as a fact would only repeat.
    """
    candidate = _read_command(sentence, text, speech, has_fact=has_fact)
    is_rule = candidate is not None and candidate.kind in (Kind.RULE, Kind.NEGATIVE)
    if candidate is not None and is_rule and _CORRECTION.match(sentence.text):
        return replace(candidate, effect="corrects")
    return candidate


def _read_command(
    sentence: TextSentence, text: str, speech: UtteranceContext, *, has_fact: bool
) -> CandidateStatement | None:
    lead = _FIRST.match(sentence.text)
    at = lead.end() if lead else 0
    piece = sentence.text[at:].rstrip()
    quote = text[sentence.start + at : sentence.start + at + len(piece)]
    lower = piece.lower()
    if _REPORTED.search(piece):
        return None
    if match := _CALL_ME.match(piece):
        return _name_speaker(match["a"].rstrip(".,!"), quote, speech)
    if match := _USE_NEVER.match(piece):
        return _build_candidate(
            quote,
            speech,
            Kind.RULE,
            "assistant",
            "always",
            f"use {match['a']}",
            triggers=(match["a"].lower(), match["b"].lower()),
        )
    if match := _NEVER.match(piece) if holds_any(lower, _NEVER_WORDS) else None:
        body = _command_body(match, quote)
        if body and _is_imperative(body, negative=True):
            return _build_candidate(
                quote,
                speech,
                Kind.NEGATIVE,
                "assistant",
                "never",
                body,
                triggers=_ban_triggers(body),
            )
    elif match := _WHEN.match(piece):
        trigger = match["a"].strip()
        action = match["b"].strip()
        if _is_imperative(action):
            return _build_candidate(
                quote,
                speech,
                Kind.PROCEDURE,
                "assistant",
                f"when {trigger}",
                action,
                triggers=(trigger,),
                steps=(action,),
            )
    elif match := _ALWAYS.match(piece) if holds_any(lower, _ALWAYS_WORDS) else None:
        body = _command_body(match, quote)
        if body and _is_imperative(body):
            return _build_candidate(
                quote,
                speech,
                Kind.RULE,
                "assistant",
                "always",
                body,
            )
    return (
        _extract_answer_rule(sentence, text, speech)
        or _extract_wish(piece, quote, speech)
        or _extract_convention(sentence, text, speech, has_fact)
    )


def _extract_answer_rule(
    sentence: TextSentence, text: str, speech: UtteranceContext
) -> CandidateStatement | None:
    """Extract how an assistant is to answer: ``keep your answers short``."""
    wish = find_answer_rule(sentence, text) if speech.speaker == "the user" else None
    if wish is None:
        return None
    quote = text[sentence.start : sentence.start + len(sentence.text)]
    if wish.kind == "name":
        return _name_speaker(wish.object, quote, speech)
    body = trim_quote(collapse_space(quote))
    if wish.kind == "lift":
        permission = _build_candidate(
            quote, speech, Kind.NEGATIVE, "assistant", "never", wish.object
        )
        return replace(permission, effect="ends")
    if wish.kind in ("rule", "implied"):
        rule = _build_candidate(quote, speech, Kind.RULE, "assistant", "always", body)
        return rule if wish.kind == "rule" else replace(rule, confidence=_UNSURE)
    return _build_candidate(
        quote, speech, Kind.NEGATIVE, "assistant", "never", body, triggers=_ban_triggers(body)
    )


def _extract_convention(
    sentence: TextSentence, text: str, speech: UtteranceContext, has_fact: bool
) -> CandidateStatement | None:
    """Extract a convention that was told to an assistant: ``use pnpm, not npm``."""
    if speech.speaker != "the user":
        return None
    end = sentence.start + len(sentence.text)
    quote = text[sentence.start : end]
    following = text[end:].lstrip(" .!").partition(".")[0]
    opening = _CORRECTION.match(quote)
    begin = opening.end() if opening else 0
    if speech.project:
        kind, rule_text = find_project_rule(quote[begin:], has_fact=has_fact, following=following)
    else:
        kind, rule_text = _find_convention(quote[begin:], has_fact)
    if kind is None:
        return None
    # What takes something back belongs to the rule in whose place it stands.
    is_all = quote[begin:].startswith(rule_text)
    quote = quote[: begin + len(rule_text)] if is_all else rule_text
    predicate = "never" if kind is Kind.NEGATIVE else "always"
    body = trim_quote(cut_opening(collapse_space(rule_text)))
    triggers = _ban_triggers(body) if kind is Kind.NEGATIVE else ()
    candidate = _build_candidate(
        quote, speech, kind, "assistant", predicate, body, text=body, triggers=triggers
    )
    return replace(candidate, category=DECISION) if is_decision(rule_text) else candidate


def _find_convention(quote: str, has_fact: bool) -> RuleForm:
    """Find the kind of a convention, and the part of the sentence that says it."""
    # "Refactor the cart: let's go with Zustand": the convention stands behind the task.
    for part in (quote, quote.partition(": ")[2]):
        kind = find_convention(part, has_fact=has_fact)
        if kind is not None:
            return RuleForm(kind, part)
    return RuleForm(None, quote)


def _extract_wish(piece: str, quote: str, speech: UtteranceContext) -> CandidateStatement | None:
    """Extract a wish that is only implied, as an unsure rule."""
    match = _WISH.match(piece)
    if match is None:
        return None
    body = f"prefer {match['b']}" if match["b"] else _command_body(match, quote)
    if not body or not _is_imperative(body):
        return None
    return _build_candidate(
        quote,
        speech,
        Kind.RULE,
        "assistant",
        "always",
        body,
        confidence=_UNSURE,
    )


def _name_speaker(name: str, quote: str, speech: UtteranceContext) -> CandidateStatement | None:
    """Build the fact of a speaker's name: ``call me Kit``."""
    if not name[0].isupper() and name.islower() and len(name) < 2:
        return None
    return _build_candidate(
        quote,
        speech,
        Kind.FACT,
        speech.subject,
        "is_named",
        name,
        category="identity",
        single=True,
    )


def extract_procedure(text: str, speech: UtteranceContext) -> CandidateStatement | None:
    """Extract a procedure, two steps at least: ``To deploy: 1. …``."""
    plain = text[:6000]
    if "#" in plain:
        plain = _HEADING.sub(lambda heading: heading[1].rstrip(" \t\r#:*_") + ":", plain)
    if (told := _HOW_TO.match(plain)) is not None and _SECTION.search(told["body"]):
        return _extract_sections(told, text[:6000], speech)
    match = _STEPS.search(text[:6000]) if ":" in text or "irst" in text else None
    if match is None:
        return None
    body = match["body"]
    steps = tuple(" ".join(item.split()).rstrip(" ,;") for item in _ITEM.findall(body))
    if len(steps) < 2 and re.search(r"\bfirst\b|\bthen\b", body, re.IGNORECASE):
        line = body.split("\n")[0].split(". I ")[0]
        steps = tuple(piece.strip(" ,;.") for piece in _THEN.split(line) if piece.strip(" ,;."))
    if len(steps) < 2 or any(len(step) > 300 for step in steps):
        return None
    name = match["name"].strip()
    last = steps[-1].rpartition(" ")[2]
    end = body.rfind(last)
    quote = text[match.start() : match.start("body") + (end + len(last) if end >= 0 else len(body))]
    return _build_candidate(
        quote,
        speech,
        Kind.PROCEDURE,
        name,
        "procedure",
        "",
        category="procedure",
        triggers=(name,),
        steps=steps,
    )


def _extract_sections(
    match: re.Match[str], quote: str, speech: UtteranceContext
) -> CandidateStatement | None:
    """Extract a procedure with sections, in lines or in one.

    ``How to deploy. Prerequisites: … Steps: 1. … Warning: …``
    """
    name = match["name"].strip()
    body = match["body"]
    held: dict[str, list[str]] = {"p": [], "s": [], "w": []}
    marks = [*_SECTION.finditer(body)]
    held["s"] += [body[: marks[0].start()] if marks else body]
    for mark, after in zip(marks, [*marks[1:], None][: len(marks)], strict=True):
        label = mark["label"].lower()
        if label.startswith(("step", "instruction")):
            kind = "s"
        elif label.startswith(("warn", "caution", "danger")):
            kind = "w"
        else:
            kind = "p"
        held[kind].append(body[mark.end() : after.start() if after else len(body)])
    steps = [
        " ".join(item.split()).rstrip(" ,;.") for part in held["s"] for item in _ITEM.findall(part)
    ]
    if len(steps) < 2 or any(len(step) > 300 for step in steps):
        return None
    needs, warns = (
        _split_items(part, at) for part, at in ((held["p"], _NEEDS), (held["w"], _WARNS))
    )
    return _build_candidate(
        quote,
        speech,
        Kind.PROCEDURE,
        name,
        "procedure",
        "",
        category="procedure",
        triggers=(name,),
        steps=tuple(steps),
        prerequisites=needs,
        warnings=warns,
    )


def _split_items(parts: list[str], at: re.Pattern[str]) -> tuple[str, ...]:
    """Split sections into items: listed ones, else at these marks."""
    found = [item for part in parts for item in _ITEM.findall(part) or at.split(part)]
    return tuple(item for one in found if (item := " ".join(one.split()).strip(" ,;."))[:300])


def _build_candidate(
    quote: str,
    speech: UtteranceContext,
    kind: Kind,
    subject: str,
    predicate: str,
    value: str,
    **more: object,
) -> CandidateStatement:
    made = CandidateStatement(
        text=trim_quote(collapse_space(quote)),
        kind=kind,
        subject=subject,
        predicate=predicate,
        object=value,
        category="behavior",
        evidence=(speech.evidence(quote.strip()),),
        confidence=0.9,
        importance=0.8,
        trust=speech.trust,
        said_at=speech.said_at,
        effective_at=speech.said_at,
        reason=f"rule {kind}",
    )
    return replace(made, **more)


def _command_body(match: re.Match[str], quote: str) -> str:
    """Return what a command asks for, code to the letter."""
    group = match.lastgroup or 0
    body = quote[match.start(group) : match.end(group)]
    return re.sub(r"^(?:please|always)\s+", "", body.strip(" .!,"), flags=re.IGNORECASE)


def _is_imperative(body: str, *, negative: bool = False) -> bool:
    """True for an instruction: ``use metric units``, not ``loved the sea``.

    ``negative``: the text stood after "never" or "don't".
    """
    first = body.split(maxsplit=1)[0].lower().strip(",.'\"") if body.split() else ""
    if first in _IMPERATIVE:
        return True
    lemma = find_lemma(first)
    is_verb = lemma is not None
    is_base_form = lemma is not None and first == lemma.base
    if _ASKED.search(body):
        return first.isalpha() and (is_base_form or not is_verb)
    is_banned = is_base_form or (is_verb and first.endswith("ing"))
    return negative and is_banned and first not in _NO_BANS


def _ban_triggers(body: str) -> tuple[str, ...]:
    """Return terms that trigger a ban: its object, not its verb."""
    return tuple(dict.fromkeys(terms(body.partition(" ")[2])))[:6]
