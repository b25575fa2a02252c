"""Policy: whether a candidate is stored now, held, or dropped.

Enter at ``decide`` for the decision of the rules, and at ``clamp_decision`` for the limits of a
model's decision. Hard guards come first in both: nothing, not even a model, overrules them.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from engrams.core import Kind
from engrams.extract import secrets
from engrams.extract.candidate import CandidateStatement
from engrams.extract.memory_requests import is_control
from engrams.extract.predicate_slots import SINGLE
from engrams.frozen_data import dataclass, replace
from engrams.text.late_patterns import holds_any, late_alternatives
from engrams.text.normalize import fold
from engrams.text.vocabulary import read_rows

PolicyMode: TypeAlias = Literal["off", "rules", "llm"]
Action: TypeAlias = Literal["commit_now", "commit_at_session_end", "require_repetition", "drop"]

_MAX_REASON = 240
"""Characters of a decision's reason."""
_LONGEST_ORDER = 500
"""Characters of the longest message that may be one order."""
_STORING: tuple[Action, ...] = ("commit_now", "commit_at_session_end")
_LOSS_CATEGORIES = frozenset(("loss", "trigger"))
_PROVENANCE = frozenset(("mentioned_in", "mentioned", "said", "asked", "told", "source"))


def _read_guard(name: str) -> re.Pattern[str]:
    """Read the pattern of one guard, in all languages."""
    return late_alternatives(*_GUARD_PATTERNS[name])


def _read_guard_patterns() -> dict[str, list[str]]:
    patterns: dict[str, list[str]] = {}
    parts: dict[str, str] = {}
    for row in read_rows(__file__, "policy_guards"):
        name, _, pattern = row.partition(": ")
        for part, words in parts.items():
            pattern = pattern.replace(part, words)
        if name.startswith("$"):
            parts[name] = pattern
        else:
            patterns.setdefault(name, []).append(pattern)
    return patterns


_GUARD_PATTERNS = _read_guard_patterns()
_SAFETY = _read_guard("safety")
_SAFETY_KEPT = _read_guard("safety_kept")
_ORDER_OPENING = _read_guard("order_opening")
_CARE_WITHHELD = _read_guard("care_withheld")
_LOOK_AWAY = _read_guard("look_away")
_DANGER = _read_guard("danger")
_CRISIS = _read_guard("crisis")
_CRISIS_SAID = _read_guard("crisis_said")
_CRISIS_STEMS = tuple(", ".join(_GUARD_PATTERNS["crisis_stems"]).split(", "))
"""Every message of a crisis holds one of them, folded."""
_HELP = _read_guard("help")
_LOSS = _read_guard("loss")
_PASSING = _read_guard("passing")
_WISH_OF_A_DAY = _read_guard("wish_of_a_day")
_PRESENT = _read_guard("present")
_LASTING = _read_guard("lasting")
_SELF_BELIEF = _read_guard("self_belief")
_ABOUT_THING = _read_guard("about_thing")
_FACT_TO_REMEMBER = _read_guard("fact_to_remember")

_SENTENCE_END = re.compile(r"[.!?。！？\n]+")
WISHES = (Kind.RULE, Kind.NEGATIVE, Kind.PROCEDURE, Kind.PREFERENCE)


@dataclass(frozen=True, slots=True)
class StoragePolicyDecision:
    """Decision whether, and when, one candidate is stored."""

    action: Action
    reason: str
    """Up to 240 characters."""
    awaits_review: bool = False
    """A model should have decided, and has not yet."""


_IMPLIED = StoragePolicyDecision("commit_at_session_end", "an implied wish")
_LOSS_HELD = StoragePolicyDecision("commit_at_session_end", "clamp: a loss or trigger")


def decide(
    candidate: CandidateStatement,
    *,
    mode: PolicyMode,
    explicit: bool,
    floor: float,
    hold_below: float = 0.0,
) -> StoragePolicyDecision:
    """Decide on one candidate under the policy ``mode``.

    ``explicit``: the user asked to remember it. ``floor``: the confidence below which nothing is
    stored; ``hold_below``: the one below which a rule or preference is held. With ``llm``, a
    candidate that passes the guards is held until a model has decided: never written unreviewed.
    Where anything is held, a loss or trigger is, too, unless it was asked to be remembered.
    """
    refusal = check_guards(candidate)
    if refusal is not None:
        return refusal
    implied = (
        mode != "off"
        and not explicit
        and candidate.kind in WISHES
        and candidate.confidence < hold_below
    )
    if implied and mode == "rules":
        return _IMPLIED
    if candidate.confidence < floor and not implied:
        return StoragePolicyDecision(
            "drop", f"confidence {candidate.confidence:.2f} under {floor:.2f}"
        )
    match mode:
        case "off":
            return StoragePolicyDecision("commit_now", "policy off")
        case "rules":
            decision = _decide_by_rules(candidate, explicit=explicit)
            is_held = hold_below and not explicit and decision.action == "commit_now"
            return _LOSS_HELD if is_held and _is_loss(candidate) else decision
        case "llm":
            return StoragePolicyDecision(
                "commit_at_session_end", "awaits review", awaits_review=True
            )


def resolve_mode(policy: PolicyMode | Literal["auto"], *, model: bool) -> PolicyMode:
    """Return who decides: with ``auto`` a model, if there is one."""
    if policy == "auto":
        return "llm" if model else "rules"
    return policy


def check_guards(candidate: CandidateStatement) -> StoragePolicyDecision | None:
    """Return the drop decision of a hard guard, or None."""
    text = fold(f"{candidate.text} {' '.join(item.quote for item in candidate.evidence)}")
    if candidate.predicate.lower() in _PROVENANCE:
        return StoragePolicyDecision("drop", "guard: only says where something was said")
    if is_control(text):
        return StoragePolicyDecision("drop", "guard: a request about memory itself")
    is_wish = candidate.kind in (*WISHES, Kind.CORRECTION)
    words = {candidate.text, *(item.quote for item in candidate.evidence)}
    if any(_gives_up_safety(fold(part), is_wish=is_wish) for part in words):
        return StoragePolicyDecision("drop", "guard: asks to give up a safety measure")
    if "[redacted" in text or any(map(secrets.scan, words)):
        return StoragePolicyDecision("drop", "guard: holds a secret")
    if _is_passing(candidate, text):
        return StoragePolicyDecision("drop", "guard: true for this turn only")
    return None


def only_gives_up_safety(text: str) -> bool:
    """Return True for a message that orders to give up a safety measure, and says nothing else."""
    if len(text) > _LONGEST_ORDER:
        return False
    sentences = [part for part in _SENTENCE_END.split(fold(text)) if part.strip()]
    return bool(sentences) and all(
        _gives_up_safety(sentence, is_wish=False) for sentence in sentences
    )


def speaks_of_danger(text: str) -> bool:
    """Return True for a message about a danger to somebody's own life."""
    return _DANGER.search(fold(text)) is not None or is_of_crisis(text)


def is_of_crisis(text: str) -> bool:
    """Return True for a message whose writer wants to die or hurts himself."""
    folded = fold(text)
    if not holds_any(folded, _CRISIS_STEMS) or _CRISIS.search(folded) is None:
        return False
    return _CRISIS_SAID.search(folded) is None


def _gives_up_safety(text: str, *, is_wish: bool) -> bool:
    """Return True if a sentence of a folded text gives up a safety measure.

    Either it names the measure, or it withholds care or looks away where somebody's life is in
    danger, in whatever order. A statement that is no wish does so if it begins with the order:
    "saute toujours la …", "from now on, skip …".
    """
    for sentence in _SENTENCE_END.split(text):
        words = _SAFETY_KEPT.sub(" ", sentence).strip()
        if is_wish:
            has_measure = _SAFETY.search(words)
            is_withheld = _CARE_WITHHELD.search(words)
            looks_away = _LOOK_AWAY.search(words)
        else:
            words = _ORDER_OPENING.sub("", words)
            has_measure = _SAFETY.match(words)
            is_withheld = _CARE_WITHHELD.match(words)
            looks_away = _LOOK_AWAY.match(words)
        if has_measure:
            return True
        if (is_withheld or looks_away) and _DANGER.search(words):
            return True
        if is_withheld and _HELP.search(words):
            return True
    return False


def asks_to_remember_fact(quote: str, message: str) -> bool:
    """Return True if a quote is of a request such as "remember that I am allergic to nuts".

    It says nothing about how to answer, so no rule is made of it. The quote may leave out the words
    that ask, but a wish that follows the fact is another matter: "… and never use emojis".
    """
    folded = fold(quote)
    if _FACT_TO_REMEMBER.search(folded):
        return True
    return any(
        _FACT_TO_REMEMBER.search(sentence)
        and not _FACT_TO_REMEMBER.search(sentence.partition(folded)[0])
        for sentence in _SENTENCE_END.split(fold(message))
        if folded in sentence
    )


def clamp_decision(
    candidate: CandidateStatement, decision: StoragePolicyDecision, floor: float = 0.0
) -> StoragePolicyDecision:
    """Limit a model's decision by the guards.

    Losses and triggers that a model read and statements less sure than ``floor`` are never stored
    at once, a low view of oneself only if it is repeated: an account of the session is no support.
    """
    refusal = check_guards(candidate)
    if refusal is not None:
        return refusal
    text = fold(f"{candidate.text} {' '.join(item.quote for item in candidate.evidence)}")
    if decision.action in _STORING and _is_low_view(text):
        reason = decision.reason if decision.awaits_review else "clamp: a low view of oneself"
        return replace(decision, action="require_repetition", reason=reason[:_MAX_REASON])
    may_wait = candidate.extractor != "rules"
    if decision.action == "commit_now" and may_wait and _is_loss(candidate):
        return _LOSS_HELD
    if decision.action == "commit_now" and candidate.confidence < floor:
        return _IMPLIED
    return replace(decision, reason=decision.reason[:_MAX_REASON])


def _is_loss(candidate: CandidateStatement) -> bool:
    """Return True for a loss, and for what sets fear off, by its words or its category.

    What is over must not wait: the statement that it ends would stay current.
    """
    if candidate.effect == "ends":
        return False
    # One by one: an end of the one and a beginning of the other say nothing together.
    texts = (candidate.text, *(item.quote for item in candidate.evidence))
    return candidate.category in _LOSS_CATEGORIES or any(
        _LOSS.search(fold(text)) is not None for text in texts
    )


def has_support(
    support: int, *, repetition: bool = False, transcript: int = 0, arc: int = 0, earlier: int = 0
) -> bool:
    """True if a held candidate has the support to be stored.

    It has been said twice; or once, and the session's arc confirms it twice, or an earlier session
    once. ``support``: times it was said; ``transcript``, ``arc``, ``earlier``: turns, parts of the
    session's arc and statements of earlier sessions that say it too. ``repetition``: it was held
    for repetition, so that an arc alone does not count.
    """
    if support >= 2:
        return True
    if repetition:
        return support >= 1 and earlier >= 1
    return transcript >= 1 and (arc >= 2 or earlier >= 1)


def _decide_by_rules(candidate: CandidateStatement, *, explicit: bool) -> StoragePolicyDecision:
    text = fold(candidate.text)
    if _is_low_view(text) and not explicit:
        return StoragePolicyDecision("require_repetition", "a low view of oneself")
    if explicit:
        return StoragePolicyDecision("commit_now", "asked to remember")
    if candidate.kind in (Kind.RULE, Kind.NEGATIVE, Kind.PROCEDURE, Kind.CORRECTION):
        return StoragePolicyDecision("commit_now", "a lasting instruction")
    if candidate.kind is Kind.PREFERENCE and candidate.confidence < 0.65:
        return StoragePolicyDecision("commit_at_session_end", "an implied preference")
    return StoragePolicyDecision("commit_now", "stated plainly")


def _is_low_view(text: str) -> bool:
    """Return True for a low view of oneself: "this laptop is useless" is none."""
    return _SELF_BELIEF.search(text) is not None and not _ABOUT_THING.match(text)


def _is_passing(candidate: CandidateStatement, text: str) -> bool:
    """True for a passing state or wish: ``I'm vegan today``.

    A procedure of several steps lasts, even if its words name a day.
    """
    if len(candidate.steps) > 1:
        return False
    if (
        candidate.valid_from is not None
        or candidate.effect != "states"
        or candidate.category in ("event", "plan", "decision")
    ):
        return False
    quote = fold(" ".join(item.quote for item in candidate.evidence)) or text
    is_of_moment = _PASSING.search(quote) is not None
    if candidate.predicate not in SINGLE:
        is_of_moment = is_of_moment or _PRESENT.search(quote) is not None
    if candidate.kind in WISHES:
        is_of_moment = is_of_moment or _WISH_OF_A_DAY.search(quote) is not None
    return is_of_moment and not _LASTING.search(quote)
