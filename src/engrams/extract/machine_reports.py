"""Error messages and traces: what programs say, which nobody tells.

Enter at ``is_noise``. Some lines only a program writes. Others open like its lines, and are told by a
person if they hold no code and few words of machinery. Besides, a short text is a report if all of its
words are of machinery, and one of them of failing: "Error de conexión: tiempo agotado".
"""

from __future__ import annotations

import errno
import os
import re
from functools import cache

from engrams.text.closed_vocabulary import load_closed_vocabulary
from engrams.text.late_patterns import holds_any, late_pattern
from engrams.text.normalize import fold
from engrams.text.stopwords import STOP
from engrams.text.terms import tokens
from engrams.text.vocabulary import read_vocabulary, word_set

# Lines that only a program writes: nobody tells something in them.
_TRACE = late_pattern(
    r"traceback \(most recent call last\)|^[^\S\n]*at [\w$.<>]+\([\w.]+:\d+\)"
    r"|^[^\S\n]*\[?\d{4}[-/]\d\d[-/]\d\d[t ]\d\d:\d\d:\d\d[^\sa-z]*z?\W+(?:error|fatal|critical|warn)"
    r"|^[^\S\n]*\[?[^\]\n]{0,24}\d\d:\d\d:\d\d[^\]\n]{0,8}(?:\] | - [\w.]+ - )\[?(?:error|fatal|critical|warn|crit|alert)"
    r"|^[^\S\n]*(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec) +\d{1,2} \d\d:\d\d:\d\d \S+ [\w.@-]+(?:\[\d+\])?:"
    r"[^\n]*(?:error|fail|fatal|refused|out of memory)"
    r"|^[^\S\n]*(?:\w+: )?\[(?:emerg|alert|crit)\] \S|^[^\S\n]*(?:systemd\[\d+\]|kernel: \[|\[ *\d+\.\d+\] kernel|##\[error\]|::error )"
    r"|^[^\S\n]*caused by: (?:[\w$]+\.)+\w|^[^\S\n]*fail(?:ed|ure)? \S+::\S|\bsegfault at \w+ ip\b"
    r"|\berror (?:response from daemon|from server \()|\berror [a-z]{1,3}\d{3,}:|\bunhandledpromiserejection"
    r"|\A\s*\[(?:[\w-]+ ){1,3}(?:error|exception): [^\]\n]+\]"
    r"|\A\s*(?:error ?(?:\[\w+\]|\d{3,})|(?:npm|yarn|pnpm) err(?:!|or)|(?:ba|z|da)?sh: [^:\n]+: (?:command )?not found\b|make: \*\*\*)"
    r"|\A\s*exception in thread\b|\bgoroutine \d+ \[|^\s*file \"[^\"\n]+\", line \d+"
    r"|\A\s*(?:process |command )?(?:exited with (?:status|code)|exit (?:status|code)) \d+\s*\Z"
    r"|\bnet::err_\w+|\bout of memory\. tried to allocate\b|\A\s*warning: retrying\b"
    r"|\A\s*panic: runtime error\b|\bthread '[^'\n]*' panicked at [\w./-]+:\d+"
    r"|\bmax retries exceeded\b|\bhttps?connectionpool\(host=",
    re.MULTILINE,
)
# Lines of certain tools: databases, compilers, clusters.
_TOOL = late_pattern(
    r"\A\s*(?:(?:ora|tns)-\d|[a-z]{2,4}\d?-0)\d{3,4}: |\A\s*(?:[a-z]\w*\.)*[a-z]\w+(?:error|exception)\s*\Z"
    r"|^[^\S\n]*(?:curl: \(\d+\)|cmake error at|conflict \(\w+\):|npm warn\b|[ew]: (?:unable to|could not)|ssh: connect to)"
    r"|\bcontext deadline exceeded\b|\brpc error: code\b|\bld returned \d+ exit status\b|\bundefined reference to [`'\"]"
    r"|\bgetaddrinfo e\w+|\bssl routines:|\bwith status ?code: \d|\bdenied \(\w+(?:,\w+)*\)|\bcan(?:no|')t resolve '",
    re.MULTILINE,
)
_OF_TOOLS = (
    "ora-",
    "tns-",
    "-0",
    "curl:",
    "cmake",
    "conflict (",
    "npm warn",
    "e: unable",
    "e: could",
    "ssh: connect",
    "error",
    "exception",
    "deadline exceeded",
    "rpc error",
    "undefined reference",
    "getaddrinfo",
    "ssl routines",
    "status code",
    "statuscode",
    "denied (",
    "resolve '",
    "exit status",
)
"""Every such line holds one of them."""
# Beginnings and words that people borrow from programs: "Critical: no penicillin for Jonas".
_BORROWED = late_pattern(
    r"^[^\S\n]*(?:\[(?:error|fatal|critical|exception|warn|warning)\]|(?:php )?fatal error|error|fatal|critical|exception)\s*[:|-]"
    r"|^[^\S\n]*\[(?:error|fatal|critical|warn|warning)\] \S"
    # "TypeError: ...", "java.net.SocketTimeoutException: ..." as the beginning
    r"|\A\s*(?:e\s+)?(?:[\w$]+\.)*[a-z]\w+(?:error|exception)\s*:"
    r"|\b(?:unhandled|uncaught) (?:exception|rejection)\b|\A\W*uncaught \w*error\b"
    r"|\bsegmentation fault\b|\bcore dumped\b|\bkernel panic\b",
    re.MULTILINE,
)
_CODE = late_pattern(
    r"\be(?:conn[a-z]+|addr[a-z]+|timedout|notfound|noent|nospc|nomem|acces|perm|pipe|exist|inval|hostunreach)\b|\b0x[\da-f]+"
    r"|\w\(\)|\w::\w|[\w\]]==?\w|\b\w+_\w+|`|(?<!\w)'[^'\s]+'|\"[^\"\s]+\" (?:not|does not|already)\b|[\w)]\[\w*\]|\b\w+-\d"
    r"|\b[a-z]\w+\.(?:[a-z]\w+\.[a-z]\w+|py|java|js|ts|go|rs|rb|php|c|h|so|sh|log|json|ya?ml|conf)\b"
    r"|\d\d:\d\d:\d\d|\b[a-z][\w.]*\.[\w-]+:[a-z][\w-]*:|(?<![\w:/])/\w+/\w|\bhttps?connectionpool|\b(?:code|status|errno|line|port)[: ]+\d"
)
"""Name, path or number of code, which a person's sentence does not hold."""
# Words of error messages that people use too: "we get a connection error".
_FAILURE = late_pattern(
    r"\b(?:connection|socket|read|gateway|request|upstream) ?(?:error|refused|reset|aborted|timed"
    r" out|time-?out)\b"
    r"|\b(?:econnrefused|econnreset|etimedout|enotfound|ehostunreach)\b"
    r"|\b(?:http|status)(?: code)? ?(?:error )?(?:429|5\d\d)\b|\b(?:502 bad gateway|503 service"
    r" unavailable|504 gateway time-?out)\b"
    r"|\b(?:internal server error|service unavailable|rate limit (?:exceeded|reached)|too many"
    r" requests)\b"
    r"|\bmodel (?:is )?(?:overloaded|not (?:found|available|loaded))\b|\b(?:timed ?out)"
    r" (?:after|waiting|while)\b|\A\W*(?:oops\W+)?something went wrong\b",
)
_NAMED_ERROR = late_pattern(r"\W*(?:[\w$]+\.)*[a-z]\w+(?:error|exception)\s*:")
_MACHINERY = word_set(read_vocabulary(__file__, "machinery"))
"""Words that a person's sentence may hold, too, but not most of it; each form is listed."""
_TOLD_SHARE = 0.6
"""Share of a sentence's words that are not of machinery, where a person says it."""
_FIRST_PERSON = late_pattern(
    r"\b(?:i|me|my|we|us|our|ich|wir|mein\w*|yo|soy|tengo|vivo|trabajo|odio|mi|mis|je|j'|mon|ma|mes|nous)\b(?![/-]\w)|[我俺咱]"
)
_APOLOGY = late_pattern(
    r"\b(?:sorry|apolog\w+|leider|entschuldig\w+|desolee?|lo siento|disculpe?|lamento)\b"
    r"|\b(?:your|ihre|votre|tu|su) (?:request|message|query|anfrage|nachricht|demande|requete|solicitud|peticion)\b"
)
"""A program says "I" and "we" when it regrets: "Sorry, we have a connection error"."""
# Every error message of English holds one of them.
_NOISY = (
    "traceback",
    "(",
    "error",
    "refused",
    "reset",
    "aborted",
    "timed out",
    "timedout",
    "time out",
    "timeout",
    "time-out",
    "econn",
    "enotfound",
    "ehostunreach",
    "http",
    "status",
    "gateway",
    "unavailable",
    "rate limit",
    "too many requests",
    "fatal",
    "critical",
    "exception",
    "rejection",
    "model",
    "retries",
    "retrying",
    "fault",
    "dumped",
    "panic",
    "err!",
    "net::err_",
    "warn",
    "crit",
    "emerg",
    "alert",
    "fail",
    "segfault",
    "systemd[",
    "kernel",
    "caused by",
    "not found",
    "***",
    "goroutine",
    'file "',
    "exit",
    "out of memory",
    "went wrong",
)
_SHORT_TEXT = 400
"""Characters up to which one error message makes the whole text noise."""
_ADDRESS = re.compile(
    r"'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`|\S*[\d_/\\@=<>{}$]\S*|\b\w+\.\w[\w.]*|\([^)\n]*\)"
)
"""Address, path, number or name of code that a report quotes."""
_PROGRAM = late_pattern(r"\A\s*[a-z][\w.-]*: (?=\S+ +\S)")
_NAME_OF_PROGRAM = re.compile(r"[a-z][\w.-]*(?:: cannot [^:]*)?")
_SETTING = late_pattern(
    r"\A[\w -]*\b(?:time-?outs?|deadline|limits?|attempts|retries)"
    r"(?: (?:is|are|ist|betragt|est|es))?\s*[:=]?\s*(?:max(?:imum)? )?\d+\s*\w*\W*\Z"
    r"|\A[\w -]*\b(?:has|have|hat|a|tiene) (?:no|an?|kein\w*|pas) [\w -]*\W*\Z"
    r"|\A[\w ,'-]*\bare \w+ed\b|\A(?:an?|every|each|any) [\w ,'-]*\bis \w+ed\b"
)
"""Settings and rules that a person lays down: "Redis timeout is 30 seconds", "Big requests are refused"."""
_ELIDED = re.compile(r"\b[dln]'")


def is_noise(text: str) -> bool:
    """True for a text that is mostly an error message or trace.

    Somebody who tells of an error in the first person says something: "we restart nginx then".
    """
    folded = fold(text[:4000])
    if not _reports(folded):
        return False
    return len(folded) > _SHORT_TEXT or _SETTING.match(folded) is None


def _reports(folded: str) -> bool:
    """True for a text that is a report, or that a line of a program opens."""
    may_be_noise = holds_any(folded, _NOISY)
    line = _TRACE.search(folded) if may_be_noise else None
    if line is None and holds_any(folded, _OF_TOOLS):
        line = _TOOL.search(folded)
    if line is not None and _speaks(folded[: line.start()]):
        return False  # "I use Debian. Why does it say this?", and then the line
    if line is None and may_be_noise:
        line = _find_borrowed(folded)
    if line is None:
        return len(folded) <= _SHORT_TEXT and _is_report(folded)
    # Of a long text, an error message is its subject only if it opens it.
    return len(folded) <= _SHORT_TEXT or line.start() < _SHORT_TEXT // 4


def _find_borrowed(folded: str) -> re.Match[str] | None:
    """Return what people say like programs, where a program says it."""
    borrowed = _BORROWED.search(folded)
    if borrowed is not None and not _is_told(folded, borrowed):
        return borrowed
    return None if _speaks(folded) else _FAILURE.search(folded)


def _is_told(folded: str, opening: re.Match[str]) -> bool:
    """True for a person's sentence behind such an opening.

    It holds no code, and an "I" or few words of machinery; and it does not begin with failing.
    """
    if _CODE.search(folded):
        return False
    if _speaks(folded):
        return True
    if _NAMED_ERROR.match(opening[0]):
        return False
    words = [
        word
        for word in tokens(f"{folded[: opening.start()]} {folded[opening.end() :]}")
        if word not in STOP
    ]
    vocabulary = load_closed_vocabulary(__file__, "machine_reports")
    if not words or vocabulary.holds_one(words[:1], "failing"):
        return False
    plain_words = [
        word for word in words if word not in _MACHINERY and not vocabulary.holds_all((word,))
    ]
    return len(plain_words) >= _TOLD_SHARE * len(words)


def _speaks(folded: str) -> bool:
    """True for somebody who says "I" or "we" and regrets nothing."""
    return _FIRST_PERSON.search(folded) is not None and _APOLOGY.search(folded) is None


def _is_report(folded: str) -> bool:
    """True for a text of which each word is one of machinery, and one of failing or of silence."""
    vocabulary = load_closed_vocabulary(__file__, "machine_reports")
    if _is_system_message(folded):
        return True
    may_fail = vocabulary.may_hold(folded, "failing") or vocabulary.may_hold(folded, "apology")
    may_be_silence = vocabulary.may_hold(folded, "reply") and vocabulary.may_hold(folded, "machine")
    if not (may_fail or may_be_silence) or _speaks(folded):
        return False
    words = tokens(_ELIDED.sub("", _ADDRESS.sub(" ", _PROGRAM.sub("", folded))))
    fails = vocabulary.holds_one(words, "failing")
    if not fails and vocabulary.holds_one(words, "negation"):
        # "Sorry, I could not reach the model", "No response from server"
        is_silence = vocabulary.holds_one(words, "reply") and vocabulary.holds_one(words, "machine")
        fails = is_silence or vocabulary.holds_one(words, "apology")
    has_several = len(words) > 1 or len(words) < len(tokens(folded))
    if not fails or not has_several:
        return False
    if vocabulary.holds_all(words):
        return True
    # "Build b1201 failed" is told: besides the failing, no word is of reports alone.
    own_words = [word for word in words if word not in _MACHINERY]
    return len({*own_words} - STOP) > 1 and vocabulary.holds_all(own_words)


def _is_system_message(folded: str) -> bool:
    """True for a message of the operating system, alone or behind the name of a program."""
    program, _, message = folded.strip(" \n.!").rpartition(": ")
    if message not in _load_system_messages():
        return False
    return not program or _NAME_OF_PROGRAM.fullmatch(program) is not None


@cache
def _load_system_messages() -> frozenset[str]:
    """Return the texts of the operating system's error numbers that are of several words."""
    texts = (fold(os.strerror(number)) for number in errno.errorcode)
    return frozenset(text for text in texts if " " in text)
