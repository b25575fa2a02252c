"""Contacts (``.vcf``) and calendars (``.ics``): each person and each appointment as a passage."""

from __future__ import annotations

import quopri
import re
from collections.abc import Iterator
from dataclasses import dataclass

from engrams.errors import InputError
from engrams.text.text_encodings import decode_text
from engrams.transfer.documents.read_document import ReadDocument, TextBlock

_LINE = re.compile(
    r"(?:[\w-]+\.)?(?P<name>[\w-]+)(?P<options>(?:;(?:[^;:\"]|\"[^\"]*\")*+)*+):(?P<value>.*)"
)
_ESCAPE = re.compile(r"\\([nN,;\\])")
_COMMON_NAME = re.compile(r";CN=(?:\"([^\"]+)\"|([^;:\"]+))", re.IGNORECASE)
_TYPE = re.compile(r"(?:^|;)(?:TYPE=)?\"?([A-Za-z]+)\"?", re.IGNORECASE)
_TIME = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?:T(\d\d):?(\d\d)(?::?\d\d)?(Z?))?.*")
_BIRTHDAY_WITHOUT_YEAR = re.compile(r"--(\d\d)-?(\d\d)")
_CONTACT = {
    "NICKNAME": "called",
    "ORG": "organisation",
    "TITLE": "job",
    "ROLE": "role",
    "TEL": "phone",
    "EMAIL": "e-mail",
    "ADR": "address",
    "BDAY": "birthday",
    "ANNIVERSARY": "anniversary",
    "URL": "page",
    "RELATED": "related",
    "NOTE": "note",
}
"""Fields of a contact, and the words that name them."""
_EVENT = {
    "DTSTART": "from",
    "DTEND": "to",
    "DUE": "due",
    "LOCATION": "at",
    "RRULE": "repeats",
    "ORGANIZER": "called by",
    "ATTENDEE": "with",
    "STATUS": "status",
    "DESCRIPTION": "about",
}
_EVENTS = ("VEVENT", "VTODO", "VJOURNAL")
_QUOTED_PRINTABLE = "QUOTED-PRINTABLE"
_NAMED_TYPES = frozenset({"home", "work", "cell", "mobile", "main", "other"})


@dataclass(frozen=True, slots=True)
class _Field:
    """One line of a card."""

    name: str
    options: str
    value: str


def read_contacts(data: bytes) -> ReadDocument:
    """Read contacts. InputError: there is none."""
    blocks: list[TextBlock] = []
    for fields in _iter_cards(decode_text(data), ("VCARD",)):
        full_name = _find(fields, "FN") or _join_name(_find(fields, "N"))
        blocks += _describe(full_name or "(no name)", fields, _CONTACT)
    return _require(blocks, "contacts")


def read_calendar(data: bytes) -> ReadDocument:
    """Read appointments and tasks. InputError: there is none."""
    blocks: list[TextBlock] = []
    for fields in _iter_cards(decode_text(data), _EVENTS):
        blocks += _describe(_find(fields, "SUMMARY") or "(no title)", fields, _EVENT)
    return _require(blocks, "appointments")


def _require(blocks: list[TextBlock], contents: str) -> ReadDocument:
    if not blocks:
        raise InputError(f"There are no {contents} in it.", hint="Export it again, then add that.")
    return ReadDocument(blocks)


def _describe(name: str, fields: list[_Field], words: dict[str, str]) -> list[TextBlock]:
    """Make a heading of a card's name, and a sentence of its fields."""
    parts = [
        f"{words[field.name]}{_name_type(field)}: {text}"
        for field in fields
        if field.name in words and (text := _tell(field))
    ]
    return [TextBlock(name, level=1), TextBlock(f"{name}: {'; '.join(parts)}" if parts else name)]


def _iter_cards(text: str, names: tuple[str, ...]) -> Iterator[list[_Field]]:
    """Yield the fields of each card; those of a part inside it, such as an alarm, are left out."""
    fields: list[_Field] = []
    open_parts: list[str] = []
    for field in _iter_fields(text):
        match field.name:
            case "BEGIN":
                open_parts.append(field.value.upper())
                if open_parts[-1] in names:
                    fields = []
            case "END" if open_parts:
                if open_parts.pop() in names:
                    yield fields
            case _ if open_parts and open_parts[-1] in names:
                fields.append(field)


def _iter_fields(text: str) -> Iterator[_Field]:
    lines: list[str] = []
    for line in text.split("\n"):
        before = lines[-1] if lines else ""
        is_soft = before.endswith("=") and _QUOTED_PRINTABLE in before.upper()
        if line[:1] in (" ", "\t") and lines:  # a long line goes on
            lines[-1] += line[1:]
        elif is_soft:
            lines[-1] = lines[-1][:-1] + line
        else:
            lines.append(line)
    for line in lines:
        if match := _LINE.fullmatch(line.rstrip("\r")):
            value = match["value"]
            if _QUOTED_PRINTABLE in match["options"].upper():
                value = quopri.decodestring(value.encode()).decode("utf-8", "replace")
            yield _Field(match["name"].upper(), match["options"], value)


def _find(fields: list[_Field], name: str) -> str:
    return next((_unescape(field.value) for field in fields if field.name == name), "")


def _join_name(value: str) -> str:
    """Join the parts of a name: "Berg;Anna;;;" is Anna Berg."""
    last_name, first_name, *_ = [*value.split(";"), "", ""]
    return " ".join(filter(None, (first_name, last_name)))


def _name_type(field: _Field) -> str:
    types = [name.lower() for name in _TYPE.findall(field.options)]
    return next((f" ({name})" for name in types if name in _NAMED_TYPES), "")


def _tell(field: _Field) -> str:
    """Tell the value of a field in words."""
    value = _unescape(field.value)
    if field.name in ("BDAY", "ANNIVERSARY", "DTSTART", "DTEND", "DUE"):
        if match := _BIRTHDAY_WITHOUT_YEAR.fullmatch(value):
            return f"{match[1]}-{match[2]} (month and day)"
        return _tell_time(value)
    if field.name in ("ORGANIZER", "ATTENDEE"):
        common_name = _COMMON_NAME.search(field.options)
        return common_name[1] or common_name[2] if common_name else value.removeprefix("mailto:")
    if field.name in ("ADR", "ORG"):
        return ", ".join(filter(None, (part.strip() for part in value.split(";"))))
    if field.name == "RRULE":
        return value.replace(";", ", ").replace("=", " ").lower()
    return " ".join(value.removeprefix("tel:").split())


def _tell_time(value: str) -> str:
    match = _TIME.fullmatch(value)
    if match is None:
        return value
    year, month, day, hour, minute, is_utc = match.groups()
    clock = f" {hour}:{minute}{' UTC' if is_utc else ''}" if hour else ""
    return f"{year}-{month}-{day}{clock}"


def _unescape(value: str) -> str:
    return _ESCAPE.sub(lambda match: " " if match[1] in "nN" else match[1], value).strip()
