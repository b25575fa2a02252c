"""Rules of a project: known forms of sentences, and a judge of all others.

Enter at ``find_project_rule``. A sentence of a known form is a rule unless the judge is sure that
it belongs to the moment; one of another form is a rule if the judge is sure of that.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from engrams.core import Kind
from engrams.extract.rules.conventions import find_convention, is_decision
from engrams.extract.rules.decisions import tells_decision
from engrams.extract.rules.problem_reports import reports_problem
from engrams.extract.rules.standing_judge import JudgedSentence, judge_sentence
from engrams.extract.rules.standing_sentences import (
    bans,
    find_standing_rule,
    gives_past_reason,
    tells_moment,
)
from engrams.text.measures import cut_unmarked_question, is_question

_QUESTION = re.compile(
    r"(?:what|why|where|how|which|when|who|warum|wieso|weshalb|wo|wie|pourquoi)\b", re.IGNORECASE
)
"""Beginning of a question that has no mark: "could you keep …" and "wer …, …" may be rules."""
_HOLDS = 0.75
_PASSES = 0.1
_SHORTEST = 8
_LONGEST = 180


class RuleForm(NamedTuple):
    """Kind of a rule, None for none, and the part of the sentence that says it."""

    kind: Kind | None
    text: str


def find_project_rule(quote: str, *, has_fact: bool = False, following: str = "") -> RuleForm:
    """Find what holds for good in a sentence that was said in a project.

    ``following``: the sentence behind it, which may tell what came of what this one bans.
    ``has_fact``: a fact with its slot was made of the sentence, which a rule would only repeat.
    """
    is_asked = _QUESTION.match(quote) and is_question(quote)
    if is_asked or cut_unmarked_question(quote) != quote or reports_problem(quote):
        return RuleForm(None, quote)
    if not has_fact and tells_decision(quote):
        return RuleForm(Kind.RULE, quote)
    form = find_form(quote, has_fact=has_fact)
    if form.kind is None and _is_ban_by_experience(quote, following):
        form = RuleForm(Kind.NEGATIVE, quote)
    if has_fact or not _SHORTEST < len(quote) <= _LONGEST:
        return form
    chance = judge_sentence(JudgedSentence(quote, has_form=form.kind is not None))
    if form.kind is not None:
        return form if chance >= _PASSES else RuleForm(None, quote)
    if chance < _HOLDS or "?" in quote or tells_moment(quote):
        return form
    return RuleForm(Kind.NEGATIVE if bans(quote) else Kind.RULE, quote)


def _is_ban_by_experience(quote: str, following: str) -> bool:
    """True for a ban with what came of it: "don't call them from a test. it cost us a day"."""
    return gives_past_reason(following) and bans(quote) and not tells_moment(quote)


def find_form(quote: str, *, has_fact: bool = False) -> RuleForm:
    """Find a known form of a rule in a sentence of a project."""
    # "Refactor the cart: let's go with Zustand": the convention stands behind the task.
    for part in (quote, quote.partition(": ")[2]):
        kind = find_convention(part, has_fact=has_fact, of_project=True)
        if kind is not None and not tells_moment(part, is_choice=is_decision(part)):
            return RuleForm(kind, part)
    rule = None if has_fact else find_standing_rule(quote)
    return RuleForm(rule.kind, quote[rule.start : rule.end]) if rule else RuleForm(None, quote)
