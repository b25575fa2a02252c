"""Detection of personal data: enter at ``scan``.

A family that comes first wins where two match the same characters.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable

from engrams.extract.secrets import SecretFinding
from engrams.text.late_patterns import late_pattern

_CARD = late_pattern(r"(?<![\w.+-])(?:\d[ -]?){12,18}\d(?![\w-])")
_IBAN = late_pattern(r"(?<!\w)[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}(?!\w)")
_EMAIL = late_pattern(r"(?<![\w.+%-])[\w.+%-]{1,64}+@(?:[\w-]{1,63}\.){1,6}[A-Za-z]{2,24}(?![\w-])")
_PHONE = late_pattern(
    r"(?<![\w./:+-])(?:\+\d{1,3}[ .-]?(?:\(0\))?|\(\d{2,5}\)[ .-]?|0\d{1,4}[ ./-])(?:\d["
    r" .-]?){5,11}\d(?![\w-])"
    r"|(?<![\w./:+-])\d{3}[-. ]\d{3}[-. ]\d{4}(?![\w-])"
)
_IPV4 = late_pattern(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.]|\.\d)")
_IPV6 = late_pattern(r"(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(?![\w:.])")
_SSN = late_pattern(r"(?<![\w-])(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])")
_PASSPORT = late_pattern(
    r"\b(?:passport|passeport|pasaporte|reisepass|passnummer|personalausweis|identity card|id"
    r" card|driver'?s? licen[cs]e)\w*"
    r"(?:\s+(?:number|no\.?|nummer|nr\.?|id))?(?:\s+(?:is|was|ist|lautet|es|est))?\s*[:#]?\s*(?P<number>[A-Z0-9][A-Z0-9-]{4,14})\b",
    re.IGNORECASE,
)
_LOCAL_NETWORKS = tuple(
    map(ipaddress.ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"))
)
"""Networks whose addresses every organisation gives out anew (RFC 1918, RFC 4193)."""
_DATE = late_pattern(r"^\d{4}[-. ]\d{2}[-. ]\d{2}|^\d{2}[-. ]\d{2}[-. ]\d{4}$")


def scan(text: str) -> tuple[SecretFinding, ...]:
    """Find personal data in order, without overlaps.

    Families: card, iban, email, phone, ip, ssn, passport. Numbers are checked, not just matched by
    shape; a passport's number is recognised by the word before it.
    """
    if not any(char.isdigit() for char in text) and "@" not in text:
        return ()
    findings: list[SecretFinding] = []
    for family, pattern, check in _FAMILIES:
        group = "number" if "number" in pattern.groupindex else 0
        for match in pattern.finditer(text):
            start, end = match.span(group)
            overlaps = any(start < finding.end and finding.start < end for finding in findings)
            if not overlaps and check(match[group]):
                findings.append(SecretFinding(family, start, end))
    return tuple(sorted(findings, key=lambda item: item.start))


def is_luhn_valid(number: str) -> bool:
    """True if the check digit fits (ISO/IEC 7812)."""
    digits = [int(char) for char in number if char.isascii() and char.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return bool(digits) and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def is_mod97_valid(iban: str) -> bool:
    """True if an account number's check digits fit (ISO 13616)."""
    bare = iban.replace(" ", "").upper()
    if not bare.isascii() or not bare.isalnum() or len(bare) < 5:
        return False
    return int("".join(str(int(char, 36)) for char in bare[4:] + bare[:4])) % 97 == 1


def _is_card(text: str) -> bool:
    digits = [char for char in text if char.isdigit()]
    return (
        13 <= len(digits) <= 19
        and digits[0] in "23456"
        and len(set(digits)) > 1
        and is_luhn_valid(text)
    )


def _is_phone(text: str) -> bool:
    return 7 <= sum(char.isdigit() for char in text) <= 15 and not _DATE.match(text)


def _is_personal_address(text: str) -> bool:
    """True for an IP address that may lead to a person.

    One of a local network or of the machine itself tells nothing outside it: "the host is
    10.0.0.12" is a fact about a network.
    """
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    is_local = any(
        address in network for network in _LOCAL_NETWORKS if network.version == address.version
    )
    return not (address.is_unspecified or address.is_loopback or address.is_link_local or is_local)


def _has_digits(text: str) -> bool:
    return sum(char.isdigit() for char in text) >= 4


def _accept_any(_: str) -> bool:
    return True


_FAMILIES: tuple[tuple[str, re.Pattern[str], Callable[[str], bool]], ...] = (
    ("email", _EMAIL, _accept_any),
    ("iban", _IBAN, is_mod97_valid),
    ("card", _CARD, _is_card),
    ("ssn", _SSN, _accept_any),
    ("ip", _IPV4, _is_personal_address),
    ("ip", _IPV6, _is_personal_address),
    ("passport", _PASSPORT, _has_digits),
    ("phone", _PHONE, _is_phone),
)
FAMILIES = frozenset(family for family, *_ in _FAMILIES)
"""Names of the families of personal data."""
