"""Conventions that developers and others tell an assistant without "always" or "never".

"Use pnpm, not npm", "no emojis please", "all money is integer cents, never floats", "we squash
merge", "tests go next to the file". Enter at ``find_convention``. A request for this turn ("use
the other file", "run all tests") is none, nor is what is so at the moment ("the build is red"): a
convention is general, has no question, and is short.
"""

from __future__ import annotations

import re

from engrams.core import Kind
from engrams.text.late_patterns import late_pattern

_LONGEST = 180
_POINTS = re.compile(
    r"\b(?:this|that|these|those|it|here|above|below|now|today|again|previous|following|you|your)\b",
    re.IGNORECASE,
)
_LEAD = (
    r"\W*(?:(?:please|pls|and|also|so|ok|okay|no wait|no|hey|quick one|btw|by the way|oh|note|reminder"
    r"|remember|fyi|heads up|one more thing|but|well|listen|sorry|actually|important|convention|decision"
    r"|decided|rule(?: of thumb)?(?: here)?|in this (?:repo|project|codebase|service))\b\W+)*"
)
_FROM_NOW = ("from now on", "from here on", "going forward")
_PHRASE = r"(?!the\b|an?\b|my\b|our\b)[\w`@][\w`./+#*@-]*"
_LANGUAGE = (
    r"english|german|spanish|french|chinese|japanese|italian|portuguese|dutch|polish|deutsch|español"
    r"|français"
)
_RULES = tuple(
    re.compile(rf"{_LEAD}{pattern}[\s.!]*", re.IGNORECASE)
    for pattern in (
        rf"use {_PHRASE}(?: {_PHRASE}){{0,3}},? (?:and )?(?:not|never|instead of|rather than|over) [^,;]{{2,60}}",
        rf"use {_PHRASE}(?: {_PHRASE}){{0,2}}",
        rf"use {_PHRASE}(?: {_PHRASE}){{0,3}} (?:for|in|when|everywhere) [^,;]{{2,60}}",
        r"keep (?:all |your |the )?(?:answers?|replies|responses?|commits?|commit messages|messages|functions|files"
        r"|prs?|explanations?)"
        r" [^,;]{3,60}(?:, (?:and )?(?:no|without|never|not) [^,;]{2,40}){0,3}",
        rf"(?:answer|reply|respond|write|speak|talk)(?: to me| back)? in (?:{_LANGUAGE})(?: only)?",
        r"(?:all|every|each) [^,;]{2,60} (?:is|are|must|should|have to|has to|goes?|uses?|gets?|needs?) [^;]{2,80}"
        r"(?<!\?)",
        r"only (?:deploy|merge|commit|push|release|use|call|import|write)\b[^;]{2,80}",
        r"(?:always )?(?:ask|check with|tell) me (?:first )?before (?:you )?(?:\w+ ){0,4}(?:any\w*|every\w*|[\w-]+s"
        r"|[\w-]+ing)\b[^;]{0,60}",
        r"(?:from now on|from here on|going forward|ab jetzt|a partir de ahora|désormais),? [^;]{6,120}",
        r"(?:commit messages?|branch(?:es| names?)|tests?|migrations?|deploys?|deployments?|releases?|prs?"
        r"|pull requests?)"
        r" (?:only |always |must |should |never )[^;]{3,80}",
        r"prefer [^,;]{2,60} (?:over|to) [^,;]{2,60}",
        r"i(?:'d| would) like (?:your )?(?:answers?|replies|explanations?|summaries) (?:as|in|with"
        r"|without) [^;?]{2,60}",
    )
)
_BANS = tuple(
    re.compile(rf"{_LEAD}{pattern}[\s.!]*", re.IGNORECASE)
    for pattern in (
        r"(?:don't|dont|do not|never) [\w`][^;]{2,100}\b(?:without|unless|before|instead|outside|except)\b[^;]{2,60}",
        r"(?:don't|dont|do not) (?:ever )?use [^;]{2,100}",
        r"(?:never|don't ever|do not ever) (?!mind|forget|worry|give up)[\w`][^;]{2,120}",
        r"no (?!worr|problem|thanks?|idea|way|need|rush|pets|kids|plans|news|one"
        r"|more)[\w`-]+(?: [\w`-]+){0,2}s(?: please| pls)?",
        r"no (?!worr|problem|thanks?|idea|way|need|rush)[\w`-]+(?: [\w`-]+){0,3} (?:please|pls)",
    )
)

_TECHNICAL = late_pattern(
    r"`[^`\n]+`|\b[\w.-]+/(?:[\w.*-]+/?)*|\b\w+\.(?:py|tsx?|jsx?|go|rs|java|kt|rb|md|json|ya?ml|toml|sql|sh|css"
    r"|html|lock|env|prisma)\b"
    r"|\b[a-z]{2,}[A-Z][a-z]\w+|\b[a-z]+_[a-z_]+\b|\B\.env\b|\bv\d|\b(?i:"
    r"tests?|testing|commits?|committing|prs?|pull requests?|branch(?:es)?|repo(?:s|sitory|sitories)?|codebase|code"
    r"|migrations?"
    r"|endpoints?|apis?|columns?|rows?|tables?|schemas?|deploy(?:s|ments?|ing)?|releases?|ci|cd|pipelines?"
    r"|lint(?:er|ing|s)?"
    r"|dependenc(?:y|ies)|deps|packages?|imports?|exports?|functions?|methods?|class(?:es)?|modules?|components?"
    r"|docstrings?|comments?"
    r"|type hints?|types|typing|logg?(?:s|ing|er)|errors?|exceptions?|stack traces?|database|db|quer(?:y|ies)"
    r"|handlers?|reducers?"
    r"|services?|clusters?|queues?|workers?|jobs?|staging|production|prod|docker|kubernetes|terraform|config"
    r"|env vars?|environment variables?"
    r"|secrets?|tokens?|fixtures?|mocks?|mock(?:ing)?|coverage|timestamps?|utc|iso \d+|json|yaml|uuid\w*|sql|css"
    r"|html|http|rest|graphql|grpc|rpc"
    r"|timeouts?|retr(?:y|ies)|caches?|transactions?|backups?|feature flags?|flags|changelog|reviews?|approvals?"
    r"|merge|squash|rebase|force-push"
    r"|push(?:es)?|ids|inputs?|interfaces?|decimals?|floats?|integers?|cents|strings?|inheritance|composition"
    r"|refactors?|typescript"
    r"|javascript|python|rust|java|kotlin|swift|golang|react|vue|node|postgres|redis|kafka|rabbitmq|git|github"
    r"|gitlab|npm|pnpm|yarn|bun|uv|pip"
    r"|zustand|redux|mobx|prisma|drizzle|zod|dayjs|tailwind|fastapi|django|flask|rails|express|nestjs|svelte"
    r"|angular|celery|stripe"
    r"|sentry|grafana|prometheus|elasticsearch|mongodb|mysql|sqlite|dynamodb|lambda|aws|gcp|azure|ansible|helm"
    r"|files?|folders?"
    r"|eslint|ruff|mypy|pytest|jest|vitest|cargo|clippy|webpack|vite|edition|compiler|build|monorepo|third_party"
    r"|infra|ports|clients?"
    r"|i18n|props|hooks|locks?|threads?|async|globals?|singletons?|constants?|enums?|dtos?|models?|views?"
    r"|templates?|scripts?|makefile"
    r")\b"
)
"""Words and forms of code that others seldom use."""
_STATUS = re.compile(
    r"\b(?:broken|broke|failing|fails|failed|red|green again|slow|wrong|weird|flaky|stuck|down|still|yet|again"
    r"|currently|right now"
    r"|for now|today|tomorrow|yesterday|tonight|bug|crash\w*|works?|working|done|finished|ready|maybe|probably"
    r"|i think|i guess|perhaps)\b",
    re.IGNORECASE,
)
"""Words of what is so at the moment, or unsure."""
_BEFORE_YOU = re.compile(r"\bbefore you\b", re.IGNORECASE)
_BEFORE = late_pattern(r"\b(?:before|when|until) you\b[^,;]*", re.IGNORECASE)
_NOUNS = (
    r"(?!(?:i|he|she|it|they|you|there|this|that|what|who|how|why|when|if|let|can|could|would|will|do|does"
    r"|did)\b)(?:(?:the|our|all|every|each|new|any) )?(?:[\w`./<>*@-]+ ){0,4}?[\w`./<>*@-]+"
)
_DOES = (
    r"(?:always |only |never |all )?(?:is|are|live|lives|go|goes|belong|belongs|start|starts|come|comes|run|runs"
    r"|need|needs|use|uses"
    r"|must|should|have to|has to|get|gets|require|requires|sit|sits|follow|follows|own|owns|push|pushes|return"
    r"|returns|take|takes"
    r"|stay|stays|end|ends|fail|fails|contain|contains|carry|carries|target|targets)"
)
_GENERAL = (
    r"(?:always|never|only|must|should|from now on|everywhere|anywhere|next to|by hand|frozen|read-only|off limits|deprecated"
    r"|in english|against|instead|required|mandatory|at least|at most|minimum|maximum|belongs?|starts? with"
    r"|ends? with|lives? in|comes? from|runs? (?:against|nightly|every)|pushes|owns?|follows?|built with|written in"
    r"|generated|versioned|pinned|absolute|relative|immutable|reversible|idempotent|integer|epoch|utc|iso \d+"
    r"|decimals?|uuid\w*|called|cut on)"
)
_SOMETIMES = r"(?:not|no|needs?(?! (?:an?|to|some|more|fixing)\b)|requires?|goes?|runs? (?:on|with|in)|\d[\d.]*)"
"""Words of conventions that also tell of what is so at the moment, where one thing is named."""
_HABITS = (
    r"squash|rebase|pin|use|deploy|merge|ship|target|support|run|write|keep|put|store|test|mock|log|name|release"
    r"|version|sign|set|avoid"
    r"|prefer|require|build|host|publish|cut|tag|format|lint|delete|commit|review|generate|import|export|call|wrap|validate"
    r"|cache|follow|own"
    r"|do|treat|rely on|stick (?:to|with)|go through|work (?:with|on)"
)
_CHOICES = (
    r"gave up on|dropped|moved (?:from|to|off|away)|switched|migrated|decided|standardi[sz]ed|settled|agreed"
    r"|went with|chose|picked|bumped"
    r"|replaced|upgraded|removed|deprecated|got rid of|stopped using|no longer use|don't use|never use"
)
_ORDERED = (
    r"run|write|put|keep|use|import|pin|wrap|log|name|avoid|make sure|be sure|ensure|stick to|leave|ask(?: me)?"
    r"|show(?: me)?|do|commit|sign|store"
    r"|validate|mock|cap|tag|document|format|lint|prefer|test|treat|check|call|touch|update|return|throw|raise"
    r"|split|add|squash|rebase|merge"
)
_TASKS = r"(?:add|fix|make|create|implement|write|run|build|change|update|check|find|remove|delete|test|do|open|show|look|try)\b"
_LASTING = (
    r"(?:before (?:you (?:say|call|claim|commit|push|finish|edit|touch|change|delete)|every|each|any"
    r"|committing|pushing|merging|opening|editing|deleting)|after (?:every|each|you)"
    r"|afterwards|when(?:ever)? (?:you|we|a|an|something|adding|changing|moving)|if you"
    r"|per (?:ticket|pr|feature|commit|file|change)|always|never|by default|untouched|alone|on every|with every"
    r"|with each|in every|in separate|up to date)"
)
_PREFERRED = (
    r"(?:in [\w`-]+ style|via|through|at the (?:boundaries|edges)|instead of|rather than|by hand|yourself|over|not"
    r"|don't|everywhere|only)"
)
_ONE = r"(?:the|this|that|these|those|a|an|my|it|one|another)\b(?! `)"
"""Words before a thing at hand, of which an order speaks."""
_DECISION = re.compile(
    rf"^\W*(?:decision|decided)\b|\bwe(?:'re| have|'ve)? (?:now |all |finally )*(?:{_CHOICES})\b|\blet'?s (?:go with|switch"
    r" to|settle on|agree on|standardi[sz]e on)\b",
    re.IGNORECASE,
)
_AGAINST = re.compile(
    r"\b(?:decided|against|gave up on|got rid of|no longer|stopped)\b", re.IGNORECASE
)
_WAYS = tuple(
    late_pattern(rf"{_LEAD}{pattern}[\s.!]*", re.IGNORECASE)
    for pattern in (
        rf"{_NOUNS} {_DOES}\b(?=.*\b{_GENERAL}\b)[^;?]{{2,130}}",
        rf"(?!{_ONE})(?=.*\b{_SOMETIMES}\b){_NOUNS} {_DOES}\b[^;?]{{2,130}}",
        rf"(?=.*\b{_GENERAL}\b){_NOUNS} {_DOES}\b[^;?]{{2,130}}",
        rf"we (?:always |never |only |just |don't |do not |all )*(?:{_HABITS})\b(?! to\b)(?!.* first\b)[^;?]{{2,120}}",
        rf"we(?:'re| are| have|'ve)? (?:now |all |finally )*(?:on|{_CHOICES})\b[^;?]{{2,120}}",
        r"let'?s (?:go with|standardi[sz]e on|stick (?:to|with)|switch to|settle on|agree on|always|never"
        r"|only) (?!that|this|it\b)[^;?]{2,120}",
        rf"(?:only |always )?(?:{_ORDERED})\b(?=.*\b{_LASTING}\b)[^;?]{{4,140}}",
        rf"(?:only |always )?(?:{_ORDERED}) (?!{_ONE})(?=.*\b{_PREFERRED}\b)[^;?]{{4,140}}",
        rf"only (?:{_ORDERED})\b[^;?]{{4,140}}",
        r"stick (?:to|with) [^;?]{2,100}",
        r"(?:if|when|whenever) you (?:touch|change|add|edit|move|rename|delete|create|write|update)\b[^;?]{4,140}",
        rf"{_NOUNS} (?:is|are) [^;?]{{2,80}}, we (?:{_CHOICES})\b[^;?]{{2,80}}",
        r"(?!i\b|we\b|you\b)[\w`./-]+(?: [\w`./-]+){0,3} only (?:in|for|on|at|via|through|with|from) [^;?]{2,100}",
        r"(?:one|a single) [\w-]+ per [\w-]+[^;?]{0,60}",
        r"(?:commit messages?|prs?|tests?|branch(?:es| names?)|docs|docstrings?|comments|names?|functions?|methods"
        r"|files|classes|components|errors?)"
        r" (?:in|under|over|per|with|without|next to|below|beside|at most|max) [^;?]{2,100}",
        r"(?:ports|versions|envs?|urls?|naming|style|stack|paths|hosts): [^;?]{3,120}",
        rf"(?!{_TASKS}){_PHRASE}(?: {_PHRASE}){{0,2}} (?:only|for (?:new|all|every) [\w -]+)(?:, (?:no|never"
        rf"|not) [^;?]{{2,60}})?",
        rf"{_PHRASE} (?:for|in) [\w -]+, {_PHRASE} (?:for|in) [^;?]{{2,60}}",
        r"i(?:'d| would)? (?:want|like|expect|need) [^;?]{2,80} (?:on|for|in|with|before|after) (?:every|each|all"
        r"|any)\b[^;?]{2,60}",
        r"(?:the |our )?(?:only )?[\w -]{2,40} (?:that )?(?:pushes|deploys|merges|releases) to [^;?]{2,60}",
    )
)
_TABOOS = tuple(
    late_pattern(rf"{_LEAD}{pattern}[\s.!]*", re.IGNORECASE)
    for pattern in (
        # With a reason or another way, or of things in general: "don't touch the tests" is for now.
        r"(?:don't|dont|do not|stop|avoid) (?:you ever )?[\w`][^;?]{2,100}(?:, (?:we|because|since"
        r"|as|deprecate"
        r"|rather|instead)\b[^;?]{2,100}|\bby hand|\bdirectly|\byourself|\banymore|\bever)",
        r"(?:don't|dont|do not|stop|avoid) (?:you ever )?(?!the\b|this\b|that\b|it\b|these\b)\w+ (?!the\b|this\b"
        r"|that\b|it\b|these\b|me\b|my\b|now\b)[\w`][^;?]{2,100}",
        r"(?:never|don't (?:you )?ever|do not ever) (?!mind|forget|worry|give up)[\w`][^;?]{2,120}",
        r"(?:no|not any) (?!worr|problem|thanks?|idea|way|need|rush|wonder|clue|luck)[\w`][^;?]{1,60}(?:, (?:use"
        r"|only|just|prefer|we) [^;?]{2,80})",
    )
)


def find_convention(piece: str, *, has_fact: bool = False) -> Kind | None:
    """Return the kind of a convention, a rule or a ban; None for other sentences.

    ``piece``: the sentence without what leads to it, code included. ``has_fact``: it is a fact
    already, and so no rule about code besides.
    """
    text = " ".join(piece.split()).replace("’", "'")
    if not 6 < len(text) <= _LONGEST or "?" in text:
        return None
    if any(pattern.fullmatch(text) for pattern in _BANS):
        return (
            None if _POINTS.search(text) and not text.lower().startswith("never") else Kind.NEGATIVE
        )
    if any(pattern.fullmatch(text) for pattern in _RULES) and not _is_passing(text):
        return Kind.RULE
    kind = _find_technical(text)
    # "We decided against GraphQL" is no fact that GraphQL was decided.
    is_told_by_fact = has_fact and kind is Kind.RULE and not _AGAINST.search(text)
    return None if is_told_by_fact else kind


def is_technical(text: str) -> bool:
    """True for words of code and tools."""
    return _TECHNICAL.search(text) is not None


def holds_from_now(text: str) -> bool:
    """True for words that hold from now on."""
    lower = text.lower()
    return any(words in lower for words in _FROM_NOW)


def is_decision(piece: str) -> bool:
    """True for a convention that was chosen: "let's go with Zustand", "we decided against GraphQL"."""
    return _DECISION.search(piece) is not None


def _find_technical(text: str) -> Kind | None:
    """Return the kind of a convention about code, told as what is done or where things go."""
    if _TECHNICAL.search(text) is None or _STATUS.search(_BEFORE.sub("", text)):
        return None
    if any(pattern.fullmatch(text) for pattern in _TABOOS):
        return Kind.NEGATIVE
    return Kind.RULE if any(pattern.fullmatch(text) for pattern in _WAYS) else None


def _is_passing(text: str) -> bool:
    opens_future = text.lower().startswith(_FROM_NOW)
    pointed = _BEFORE_YOU.sub("before", text)
    return not opens_future and _POINTS.search(pointed) is not None
