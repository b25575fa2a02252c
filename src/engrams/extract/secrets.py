"""Detection and redaction of keys, passwords and tokens.

Each rule names the literals of which one must occur before its pattern is tried, so that a text
without them costs a few substring searches. Patterns use possessive quantifiers and bounded
repeats: no input makes them backtrack.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from functools import cache

from engrams.extract.secret_patterns import PASSWORD_WORDS, PLAIN, PROSE, RULES
from engrams.frozen_data import dataclass
from engrams.text.late_patterns import late_pattern

_SHORTEST = 6
# Every key with a fixed prefix has this many characters in a row; ordinary text seldom does.
_RUN = late_pattern(r"\S{16}")
_ANYHOW = frozenset(
    ("private-key", "putty-key", "url-password", "odbc-password", "netrc", "curl-user")
)
_ENTROPY = 2.9
_PLACEHOLDER = late_pattern(
    r"^(?:[x*•.…_#-]+|<.*>?|\[.*|\{.*|\$.*|%.*|.*\(.*|.*(?:example|placeholder|changeme|change_me|change-me|dummy|redacted"
    r"|your[-_ ]|my[-_]|insert|todo|foobar).*"
    r"|(?:none|null|nil|true|false|undefined|string|str|bytes|int|bool|optional|required|secret|password|token|test|xxx+)[,;)\]]*"
    r"|(?:os|process|env|self|this|settings|config|conf|request|req|args|opts|options|params|props|data|user|form|body"
    r"|response|res|cfg|ctx|secrets|vault)[.\[].*"
    r"|(?:getenv|environ|getpass|input|prompt|get_|load_|read_|hash_|generate_|create_|bcrypt|argon).*)$",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class SecretFinding:
    """Secret at ``text[start:end]``; ``rule`` names its family."""

    rule: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _SecretRule:
    name: str
    literals: tuple[str, ...]
    pattern: str
    check: Callable[[str], bool] | None
    folded: bool
    long: bool = False


def scan(text: str) -> tuple[SecretFinding, ...]:
    """Find every secret in ``text``, in order, without overlaps."""
    lower = text.lower()
    found: list[SecretFinding] = []
    for rule in _RULES if _RUN.search(text) else _SHORT:
        where = lower if rule.folded else text
        for literal in rule.literals:  # no generator: a hundred rules for each text of each write
            if literal in where:
                break
        else:
            continue
        find = _compile_pattern(rule.pattern, rule.folded)
        group = "v" if "v" in find.groupindex else 0
        found += [
            SecretFinding(rule.name, *match.span(group))
            for match in find.finditer(text)
            if match[group] and (rule.check is None or rule.check(match[group]))
        ]
    return _merge_overlaps(found) if found else ()


@cache
def _compile_pattern(pattern: str, folded: bool) -> re.Pattern[str]:
    """Compile a pattern on first use, for a fast start."""
    return re.compile(pattern, re.IGNORECASE if folded else 0)


def replace_findings(text: str, findings: tuple[SecretFinding, ...]) -> str:
    """Replace each finding by ``[redacted:rule]``."""
    parts: list[str] = []
    at = 0
    for finding in findings:
        parts.extend((text[at : finding.start], f"[redacted:{finding.rule}]"))
        at = finding.end
    return "".join((*parts, text[at:])) if findings else text


def _merge_overlaps(found: list[SecretFinding]) -> tuple[SecretFinding, ...]:
    kept: list[SecretFinding] = []
    for finding in sorted(found, key=lambda item: (item.start, -item.end)):
        if kept and finding.start < kept[-1].end:
            last = kept[-1]
            kept[-1] = SecretFinding(last.rule, last.start, max(last.end, finding.end))
        else:
            kept.append(finding)
    return tuple(kept)


def _is_random(value: str) -> bool:
    """True for a generated value: 2.9 bits a character (Shannon)."""
    bare = value.strip("\"'`")
    if len(bare) < _SHORTEST or _PLACEHOLDER.match(bare):
        return False
    if not (any(char.isdigit() for char in bare) and any(char.isalpha() for char in bare)):
        return False
    counts = Counter(bare)
    return -sum(n / len(bare) * math.log2(n / len(bare)) for n in counts.values()) >= _ENTROPY


def _is_assigned_secret(value: str) -> bool:
    """True unless a placeholder, code or plain word."""
    bare = value.strip("\"'`")
    if len(bare) < 4 or _PLACEHOLDER.match(bare) or bare.lower() in PLAIN:
        return False
    return not bare.isalpha() or bare != value or not (bare.islower() or bare.istitle())


def _is_spoken_secret(value: str) -> bool:
    """True unless a comment such as "my password is expired"."""
    bare = value.strip("\"'`“”„«»「」.,;!?。，！")
    if len(bare) < 3 or _PLACEHOLDER.match(bare):
        return False
    if bare.isalpha() and bare.isascii():
        return bare.lower() not in PLAIN and not bare.lower().endswith(
            ("ed", "ing", "able", "ible", "ly")
        )
    return True


def _is_numeric(value: str) -> bool:
    return len(set(value)) > 1 or len(value) == 4


_CHECKS: dict[str, Callable[[str], bool]] = {
    "random": _is_random,
    "assigned": _is_assigned_secret,
    "spoken": _is_spoken_secret,
    "numeric": _is_numeric,
}
_RULES: tuple[_SecretRule, ...] = (
    *(
        _SecretRule(
            name=name,
            literals=literals,
            pattern=find,
            check=None,
            folded=False,
            long=name not in _ANYHOW,
        )
        for name, literals, find in RULES
    ),
    *(
        _SecretRule(
            name=name,
            literals=literals or PASSWORD_WORDS,
            pattern=find,
            check=_CHECKS.get(check),
            folded=True,
        )
        for name, literals, find, check in PROSE
    ),
)
_SHORT = tuple(rule for rule in _RULES if not rule.long)
