"""Detection and redaction of keys, passwords and tokens.

Each rule names the literals of which one must occur before its pattern is tried. The trigrams of all
literals are looked up at once: in a long text by a few operations on arrays. Patterns use possessive
quantifiers and bounded repeats: no input makes them backtrack.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from engrams.extract.secret_patterns import PASSWORD_WORDS, PLAIN, PROSE, RULES
from engrams.frozen_data import dataclass, replace
from engrams.text.late_patterns import late_pattern
from engrams.text.stopwords import STOP
from engrams.text.text_caches import text_cache
from engrams.text.vocabulary import word_set

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_LONGEST_LABEL = 100
"""Characters of a text up to which its findings are kept for the next time."""
_SHORTEST = 6
"""Characters that a generated value has at least."""
_TRIGRAM = 3
_LONG_TEXT = 200
"""Characters from which a text's trigrams are looked up in arrays, which cost more in a short text."""
_TABLE_SIZE = 1 << 16
_COMMON_LETTERS = "zqjxkvbywgpfmucdlhrsnioate "
"""Letters of ordinary text, those that are seldom first; other characters are more seldom."""
_GENERATED_WORD = 10
"""Characters of a word that a generated value stands in, at least. It has a digit, or a sign that may
be one in another script. Each value that a rule tests for being generated is a part of such a word."""
_DIGIT = late_pattern("[0-9]")
_DIGITS = late_pattern(r"\d{3}")
_OF_DIGITS = frozenset(("pin", "one-time-code", "card-code"))
"""Secrets with three digits in a row."""
_RUN = 16
"""Characters in a row that every key with a fixed prefix has; ordinary text seldom does."""
_WITH_BLANKS = frozenset(
    (
        "private-key",
        "putty-key",
        "url-password",
        "odbc-password",
        "curl-user",
        "laravel-key",
        "command-password",
    )
)
_ENTROPY = 2.9
"""Bits per character (Shannon) from which a value looks generated."""
_HEX_ENTROPY = 2.5
"""The same for a value of twenty hexadecimal digits or more: sixteen digits repeat sooner."""
_HEX = late_pattern(r"[0-9a-fA-F]{20,}")
_SHORTEST_WORD = 8
"""Letters of the shortest word that is taken for a password where one is assigned."""
_SHORTEST_WORDS = 12
"""Letters of the shortest words run together that are no single word of a sentence."""
_REMARK_ENDS = ("ed", "ing", "able", "ible", "ly")
"""Ends of words that tell something of a password."""
_FOREIGN_REMARK_ENDS = tuple(
    "lich isch aufen essen oire toria torio ado ada ido ida uta ata ita lijk open ant ent".split()
)
"""The same in other languages of Latin letters."""
_NOUN_ENDS = tuple(
    "tion tions ment ments ity ness ance ence ful less ous ator ators ical ism ship".split()
)
"""Ends of the long words of a language, which words run together seldom have."""
_LETTERS_AND_DIGITS = late_pattern(
    r"(?!(?:sha|md|base|bcrypt|argon|pbkdf|aes|utf|ntlm|oauth|rot)\d)(?=\w{8})[a-z]{2,40}\d{1,8}[a-z]{2,40}\d{0,8}"
)
"""Words with digits between them; names of hashes and encodings are none."""
_FILE_ENDING = late_pattern(
    r"\.(?:txt|md|json|ya?ml|toml|conf|cfg|ini|env|pem|key|py|properties|tfvars|csv|pdf|docx?)$",
    re.IGNORECASE,
)
_PLACEHOLDER = late_pattern(
    r"^(?:[x*•.…_#-]+|<.*>?|\[.*|\{.*|\$.*|%.*|.*\(.*|.*(?:example|placeholder|dummy|redacted"
    r"|your[-_ ]|my[-_]|insert|todo|foobar).*"
    r"|(?!.*\d).*change[_-]?me.*"
    r"|(?-i:[a-z_]\w*(?:\.[a-z_]\w*)+)|[A-Z]?\w*\[.*|!\w*"
    r"|(?:none|null|nil|true|false|undefined|string|str|bytes|int|bool|optional|required|secret|password|token|test|xxx+)[,;)\]]*"
    r"|(?:os|process|env|self|this|settings|config|conf|request|req|args|opts|options|params|props|data|user|form|body"
    r"|response|res|cfg|ctx|secrets|vault)[.\[].*"
    r"|(?:getenv|environ|getpass|input|prompt|get_|load_|read_|hash_|generate_|create_|bcrypt|argon).*)$",
    re.IGNORECASE | re.DOTALL,
)

_NAME_OF_SECRET = late_pattern(
    r"(?P<qualifier>\w*?)(?P<thing>password|passwd|secret|token|credential)s?_?(?:str|field|value|input|hash|file)?",
    re.IGNORECASE,
)
_QUALIFIERS = word_set("""
    my your our the new old current user admin root owner client server api app access auth login account email mail
    db database sql mysql mariadb postgres pg redis mongo smtp imap ftp ssh ldap wifi s3 oauth oauth2 aws gcp azure
    github gitlab slack service bot refresh bearer csrf xsrf jwt session shared signing master private default test
    dev prod raw plain hashed encrypted confirm repeat verify reset get set has is no id
    """)
"""Words before the word for a secret in the name of a variable or field: ``dbpassword``."""
_OF_THINGS = word_set(
    "correct right old good bad better best hard simple easy hidden open clear silly stupid"
)
"""Remarks about a password that are also said of other things."""
_LEAST_DIGITS = 3
"""Digits of the generated part of a key."""
_SHARE_OF_CHANGES = 5
"""Of so many characters one is of another sort than the one before it, in a generated value."""
_SCATTERED = 0.42
"""The same share for a value that nothing but a word before it calls a key: names have .4 at most."""
_UNSPEAKABLE = late_pattern(
    r"[jqxz]|^[^aeiouy]+$|^(?![bcdfgkpstvw]?[hlrwn]|s[ckmnpqtw]|[^aeiouy][aeiouy])[^aeiouy]{2}"
    r"|[^aeiouy](?<![bcdfglmnprstwz]s|[lnrsfcptx]t|[lnrw]d|[lnrscwh]k|[cstgp]h|[lrsm]p|[rwlg]n|[lrs]m"
    r"|[rmb]b|ng|ll|ff|lf|rf|wl|rl|ct|ss)(?<=[^aeiouy]{2})$"
)
"""Letters in a row that no word of four letters has."""
_UUID = late_pattern(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_IMAGE_TAG = late_pattern(r"[a-z][a-z0-9./_-]*:\d[\w.-]*")
_PATH = late_pattern(r"~?(?:/[A-Za-z_.][\w.@-]*)+/?")
"""Path of a folder, as in ``PWD=/home/ann``."""
_SAMPLE = late_pattern(r"x{8}|your[-_]", re.IGNORECASE)
_NAME_OR_ADDRESS = late_pattern(
    r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+|802\.11\w*|[A-Za-z][A-Za-z0-9./_-]*:\d[\w.-]*|v?\d+(?:\.\d+)+\S*"
)
"""Name of a host or a file, an image with its tag, or a version."""
_SHORTEST_PHRASE = 2
"""Words of a pass phrase that say nothing of it."""


@dataclass(frozen=True, slots=True)
class SecretFinding:
    """Secret or personal datum at ``text[start:end]``."""

    rule: str
    """Family of the secret, such as ``aws-key``."""
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _SecretRule:
    name: str
    literals: tuple[str, ...]
    """Of these, one occurs in every text that the pattern matches."""
    pattern: str
    """The secret is its group ``v``, or all of it."""
    check: Callable[[str], bool] | None
    """Test of the matched secret that a pattern cannot make; None: no test."""
    folded: bool
    """Whether literals and pattern ignore case."""
    literal_group: int = 0
    """Number that all rules with the same literals share."""
    long: bool = False
    """Whether every match has 16 characters without a blank."""


def scan(text: str) -> tuple[SecretFinding, ...]:
    """Find every secret in ``text``, in order, without overlaps."""
    # Names and titles are the same in all passages of a document.
    return _scan_cached(text) if len(text) <= _LONGEST_LABEL else _scan(text)


@text_cache(1024)
def _scan_cached(text: str) -> tuple[SecretFinding, ...]:
    return _scan(text)


def _scan(text: str) -> tuple[SecretFinding, ...]:
    lower = text.lower()
    findings: list[SecretFinding] = []
    long_words = [word for word in text.split() if len(word) >= _GENERATED_WORD]
    tried = _choose_rules(
        has_run=any(len(word) >= _RUN for word in long_words),
        has_digits=_DIGITS.search(text) is not None,
        has_generated=any(not word.isascii() or _DIGIT.search(word) for word in long_words),
    )
    has_literal: dict[int, bool] = {}
    for number in sorted(_find_likely_rules(lower) & tried):
        rule = _RULES[number]
        group = rule.literal_group
        if group not in has_literal:
            has_literal[group] = _holds_any(lower if rule.folded else text, rule.literals)
        if not has_literal[group]:
            continue
        pattern = _compile_pattern(rule.pattern, rule.folded)
        part = "v" if "v" in pattern.groupindex else 0
        findings += [
            SecretFinding(rule.name, *match.span(part))
            for match in pattern.finditer(text)
            if match[part] and (rule.check is None or rule.check(match[part]))
        ]
    return _merge_overlaps(findings) if findings else ()


def _holds_any(text: str, literals: tuple[str, ...]) -> bool:
    # No generator: there are a hundred rules for each text of each write.
    for literal in literals:  # noqa: SIM110
        if literal in text:
            return True
    return False


@cache
def _choose_rules(*, has_run: bool, has_digits: bool, has_generated: bool) -> frozenset[int]:
    """Choose the rules that may match a text with such parts, by their numbers."""
    return frozenset(
        number
        for number, rule in enumerate(_RULES)
        if (has_run or not rule.long)
        and (has_digits or rule.name not in _OF_DIGITS)
        and (has_generated or rule.check not in (_is_random, _is_generated, _is_scattered))
    )


def _find_likely_rules(lower: str) -> frozenset[int]:
    """Find the rules of which a literal may occur in a text, which is in lower case."""
    trigrams = _load_trigrams()
    if len(lower) < _LONG_TEXT:
        present = trigrams.texts.intersection(map("".join, zip(lower, lower[1:], lower[2:])))  # noqa: B905
        return trigrams.always.union(*map(trigrams.rules.__getitem__, present))
    table = _load_hashed_trigrams()
    hashes = _hash_trigrams(lower)
    values = set(hashes[table.is_trigram[hashes]].tolist())
    return trigrams.always.union(*[table.rules[value] for value in values])


@dataclass(frozen=True, slots=True)
class _Trigrams:
    """Rules by the rarest trigram of each of their literals."""

    always: frozenset[int]
    """Numbers of the rules with a literal that is shorter than a trigram."""
    rules: dict[str, frozenset[int]]
    texts: frozenset[str]
    """The trigrams themselves."""


@cache
def _load_trigrams() -> _Trigrams:
    always: set[int] = set()
    rules: dict[str, frozenset[int]] = {}
    for number, rule in enumerate(_RULES):
        for literal in rule.literals:
            if len(literal) < _TRIGRAM:
                always.add(number)
                continue
            trigram = _choose_trigram(literal.lower())
            rules[trigram] = rules.get(trigram, frozenset()) | {number}
    return _Trigrams(frozenset(always), rules, frozenset(rules))


@dataclass(frozen=True, slots=True)
class _HashedTrigrams:
    """The same by the hashes of trigrams, for a look-up in arrays."""

    rules: dict[int, frozenset[int]]
    is_trigram: npt.NDArray[np.bool_]
    """True at each hash that is one of ``rules``."""


@cache
def _load_hashed_trigrams() -> _HashedTrigrams:
    import numpy as np  # short texts need none

    rules: dict[int, frozenset[int]] = {}
    for trigram, numbers in _load_trigrams().rules.items():
        value = int(_hash_trigrams(trigram)[0])
        rules[value] = rules.get(value, frozenset()) | numbers
    is_trigram = np.zeros(_TABLE_SIZE, dtype=np.bool_)
    is_trigram[[*rules]] = True
    return _HashedTrigrams(rules, is_trigram)


def _choose_trigram(literal: str) -> str:
    """Choose the three characters in a row of a literal that ordinary text has least often."""
    trigrams = [literal[at : at + _TRIGRAM] for at in range(len(literal) - _TRIGRAM + 1)]
    return min(trigrams, key=lambda trigram: sum(_COMMON_LETTERS.find(char) for char in trigram))


def _hash_trigrams(text: str) -> npt.NDArray[np.uint32]:
    """Hash each three characters in a row."""
    import numpy as np

    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    hashes: npt.NDArray[np.uint32] = codes[:-2] * 961 + codes[1:-1] * 31 + codes[2:]
    return hashes % _TABLE_SIZE


@cache
def _compile_pattern(pattern: str, folded: bool) -> re.Pattern[str]:
    """Compile a pattern on first use, for a fast start."""
    return re.compile(pattern, re.IGNORECASE if folded else 0)


def replace_findings(text: str, findings: tuple[SecretFinding, ...]) -> str:
    """Replace each finding by ``[redacted:rule]``."""
    parts: list[str] = []
    end = 0
    for finding in findings:
        parts.extend((text[end : finding.start], f"[redacted:{finding.rule}]"))
        end = finding.end
    return "".join((*parts, text[end:])) if findings else text


def _merge_overlaps(findings: list[SecretFinding]) -> tuple[SecretFinding, ...]:
    merged: list[SecretFinding] = []
    for finding in sorted(findings, key=lambda item: (item.start, -item.end)):
        if merged and finding.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = SecretFinding(last.rule, last.start, max(last.end, finding.end))
        else:
            merged.append(finding)
    return tuple(merged)


def _strip_marks(value: str) -> str:
    """Return a value without quotes and punctuation around it, and without a file's ending."""
    return _FILE_ENDING.sub("", value.strip("\"'`“”„«»「」.,;!?。，！"))


def _is_placeholder(value: str) -> bool:
    """True for what stands in the place of a secret: a placeholder, an expression, a name."""
    return bool(_PLACEHOLDER.match(value)) or _names_secret(value)


def _names_secret(value: str) -> bool:
    """True for the name of a variable, such as ``db_password``; not for a password: ``topsecret``."""
    match = _NAME_OF_SECRET.fullmatch(value)
    if match is None:
        return False
    qualifier = match["qualifier"]
    is_camel_case = qualifier.isalpha() and qualifier[-1].islower() and match["thing"][0].isupper()
    return (
        not qualifier
        or qualifier.endswith("_")
        or is_camel_case
        or qualifier.lower() in _QUALIFIERS
    )


def _is_random(value: str) -> bool:
    """True for a generated value: 2.9 bits a character (Shannon)."""
    bare = value.strip("\"'`")
    if len(bare) < _SHORTEST or _is_placeholder(bare):
        return False
    if not (any(char.isdigit() for char in bare) and any(char.isalpha() for char in bare)):
        return False
    counts = Counter(bare)
    least = _HEX_ENTROPY if _HEX.fullmatch(bare) else _ENTROPY
    return -sum(n / len(bare) * math.log2(n / len(bare)) for n in counts.values()) >= least


def _is_assigned_secret(value: str) -> bool:
    """True unless a placeholder, code or plain word."""
    bare = _FILE_ENDING.sub("", value.strip("\"'`"))
    if len(bare) < 4 or _is_placeholder(bare) or bare.lower() in PLAIN:
        return False
    if _PATH.fullmatch(bare):
        return False
    if not bare.isalpha() or bare != value:
        return True
    return len(bare) >= _SHORTEST_WORD and not _is_remark(bare)


def _is_remark(word: str) -> bool:
    """True for a word that tells something of a password: "expired", "missing", "under"."""
    lower = word.lower()
    return lower in PLAIN or lower in STOP or lower.endswith(_REMARK_ENDS)


def _is_foreign_secret(value: str) -> bool:
    """True unless a remark in the language of the word before it: "Passwort: vergessen"."""
    bare = _strip_marks(value)
    if len(bare) < 3 or _is_placeholder(bare) or bare.lower() in PLAIN:
        return False
    if not bare.isalpha():
        return True
    is_remark = bare.lower().endswith(_FOREIGN_REMARK_ENDS)
    return bare.isascii() and len(bare) >= _SHORTEST_WORD and not is_remark


def _is_basic_login(value: str) -> bool:
    """True for the base64 of ``user:password``."""
    try:
        login = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return False
    return ":" in login and login.isprintable()


def _is_telling_secret(value: str) -> bool:
    """True for a value that only a password looks like: mixed, or of words run together."""
    return _is_mixed_secret(value) or _is_words_together(value)


def _is_words_together(value: str) -> bool:
    """True for words run together: ``correcthorsebattery``, ``open-sesame-now``."""
    bare = _strip_marks(value)
    if _is_placeholder(bare):
        return False
    parts = re.split("[-_.]", bare)
    if len(parts) == 1:
        is_noun = bare.lower().endswith(_NOUN_ENDS)
        return bare.isalpha() and len(bare) >= _SHORTEST_WORDS and not (_is_remark(bare) or is_noun)
    is_of_words = all(part.isalpha() and len(part) >= 3 for part in parts)
    return len(parts) >= 3 and is_of_words and not any(part.lower() in PLAIN for part in parts)


def _is_worded_secret(value: str) -> bool:
    """True for a value behind "secret:" that is no remark: mixed, or of words run together."""
    bare = _strip_marks(value)
    is_long_word = bare.isalpha() and len(bare) >= _SHORTEST_WORDS and not _is_remark(bare)
    return (is_long_word and not _is_placeholder(bare)) or _is_telling_secret(value)


def _is_passphrase(value: str) -> bool:
    """True for several words of which none is a word of grammar or about passwords."""
    words = value.strip("\"'`").split()
    return not any(_is_remark(word) for word in words)


def _is_field_passphrase(value: str) -> bool:
    """True for the words of a field that holds a pass phrase, of which one may describe anything.

    "correct horse battery" is one; "wrong three times" and "keep it safe" are remarks.
    """
    words = value.strip("\"'`").split()
    remarks = [word for word in words if _is_remark(word)]
    is_of_things = all(word in _OF_THINGS for word in remarks)
    has_grammar = any(word in STOP for word in words)
    return is_of_things and not has_grammar and len(words) - len(remarks) >= _SHORTEST_PHRASE


def _is_spoken_secret(value: str) -> bool:
    """True unless a comment such as "my password is expired"."""
    bare = _strip_marks(value)
    if len(bare) < 3 or _is_placeholder(bare):
        return False
    if bare.isalpha() and bare.isascii():
        return not _is_remark(bare)
    return True


def _is_mixed_secret(value: str) -> bool:
    """True for letters with digits that no plain word or path is: ``Blue-Horse-77``."""
    bare = _strip_marks(value)
    has_both = any(char.isdigit() for char in bare) and any(char.isalpha() for char in bare)
    is_name = bare.isidentifier() and bare.islower()
    return (
        len(bare) >= _SHORTEST
        and has_both
        and not is_name
        and not _is_placeholder(bare)
        and not bare.startswith(("/", "./", "~"))
        and _IMAGE_TAG.fullmatch(bare) is None
    )


def _is_stated_secret(value: str) -> bool:
    """True for a mixed value, or for letters around digits that name no method: ``hunter2blue``."""
    bare = _strip_marks(value)
    is_of_words = _LETTERS_AND_DIGITS.fullmatch(bare) is not None and not _is_remark(bare)
    return is_of_words or _is_mixed_secret(value)


def _is_field_secret(value: str) -> bool:
    """True for the value of a field that holds secrets, unless a placeholder or plain word."""
    bare = _strip_marks(value)
    return len(bare) >= 3 and not _is_placeholder(bare) and bare.lower() not in PLAIN


def _is_scattered(value: str) -> bool:
    """True for a generated value of mixed case, which no name of words in camel case is."""
    return _is_generated(value) and _count_changes(value) > _SCATTERED * len(value)


def _count_changes(value: str) -> int:
    """Count the characters of another sort than the one before, marks of punctuation aside."""
    pairs = [(_sort_of(first), _sort_of(second)) for first, second in pairwise(value)]
    return sum(first != second and "mark" not in (first, second) for first, second in pairs)


def _is_generated(value: str) -> bool:
    """True for the generated part of a key: letters and digits change often, unlike in names."""
    changes = _count_changes(value)
    digits = sum(char.isdigit() for char in value)
    is_of_many_sorts = digits >= _LEAST_DIGITS and changes * _SHARE_OF_CHANGES >= len(value)
    return is_of_many_sorts and not _is_sample(value) and _UUID.fullmatch(value) is None


def _sort_of(char: str) -> str:
    """Name the sort of a character; a mark of punctuation is of the same sort as every other."""
    if char.isdigit():
        return "digit"
    if char.isalpha():
        return "capital" if char.isupper() else "small"
    return "mark"


def _has_three_sorts(value: str) -> bool:
    """True for a value with three of capitals, small letters, digits and marks, as passwords have."""
    bare = _strip_marks(value)
    sorts = {_sort_of(char) for char in bare}
    is_name = _NAME_OR_ADDRESS.fullmatch(bare) is not None
    return len(sorts) >= 3 and "digit" in sorts and not (is_name or _is_placeholder(bare))


def _is_scrambled(value: str) -> bool:
    """True for groups of letters that are no words: one has no vowel, or a letter that words seldom have."""
    groups = value.split()
    return not STOP.intersection(groups) and any(_UNSPEAKABLE.search(group) for group in groups)


def _has_mixed_groups(value: str) -> bool:
    """True for groups of letters and digits: a key that is shown to be typed."""
    return any(char.isdigit() for char in value) and any(char.isalpha() for char in value)


def _is_sample(value: str) -> bool:
    """True for a value that a text about keys shows: "sk-your-key", "ghp_xxxxxxxx"."""
    return _SAMPLE.search(value) is not None


def _is_no_sample(value: str) -> bool:
    return not _is_sample(value)


def _is_numeric(value: str) -> bool:
    return len(set(value)) > 1 or len(value) == 4


_CHECKS: dict[str, Callable[[str], bool]] = {
    "random": _is_random,
    "assigned": _is_assigned_secret,
    "spoken": _is_spoken_secret,
    "mixed": _is_mixed_secret,
    "numeric": _is_numeric,
    "basic": _is_basic_login,
    "foreign": _is_foreign_secret,
    "telling": _is_telling_secret,
    "worded": _is_worded_secret,
    "words": _is_passphrase,
    "field words": _is_field_passphrase,
    "stated": _is_stated_secret,
    "field": _is_field_secret,
    "generated": _is_generated,
    "scattered": _is_scattered,
    "three sorts": _has_three_sorts,
    "scrambled": _is_scrambled,
    "mixed groups": _has_mixed_groups,
}


def _keep_shortest(literals: tuple[str, ...]) -> tuple[str, ...]:
    """Leave out each literal that holds another one."""
    return tuple(
        literal
        for literal in dict.fromkeys(literals)
        if not any(other != literal and other in literal for other in literals)
    )


def _number_groups(rules: Sequence[_SecretRule]) -> tuple[_SecretRule, ...]:
    """Give rules with the same literals the same number: these are looked up once a text."""
    groups: dict[tuple[bool, tuple[str, ...]], int] = {}
    return tuple(
        replace(
            rule,
            literal_group=groups.setdefault((rule.folded, rule.literals), len(groups)),
        )
        for rule in rules
    )


_RULES = _number_groups(
    (
        *(
            _SecretRule(
                name=name,
                literals=_keep_shortest(literals),
                pattern=pattern,
                check=None if name in _WITH_BLANKS else _is_no_sample,
                folded=False,
                long=name not in _WITH_BLANKS,
            )
            for name, literals, pattern in RULES
        ),
        *(
            _SecretRule(
                name=name,
                literals=_keep_shortest(literals or PASSWORD_WORDS),
                pattern=pattern,
                check=_CHECKS.get(check),
                folded=True,
                long=name == "pgpass",
            )
            for name, literals, pattern, check in PROSE
        ),
    )
)
