"""Hostile strings: a head, a body that is repeated, and an end."""

from __future__ import annotations

FAMILIES: dict[str, tuple[str, str]] = {
    "spaces": ("where", " "), "tabs": ("where", "\t"), "newlines": ("where", "\n"), "line-ends": ("where", "\r\n"),
    "no-break": ("where", "\u00a0"), "ideographic": ("where", "\u3000"), "separators": ("where", "\u2028"), "zero-width": ("a", "\u200b"),
    "mixed-blanks": ("I live", " \t\n"), "and": ("", "and "), "parens": ("", "("), "quotes": ("", '"'), "nested-quotes": ("", "\"'"),
    "curly": ("", "“‘"), "digits": ("", "7"), "grouped": ("", "1,"), "dots": ("", "."), "ellipsis": ("", "… "), "dashes": ("", "-"),
    "dates": ("", "1/"), "iso-dates": ("", "2024-01-01T00:00 x"), "days": ("", "monday "), "months": ("", "january "),
    "years": ("", "1999 "), "ago": ("", "3 days ago "), "clock": ("", "10:"), "commas": ("", ","), "words": ("", "a,"),
    "cjk": ("", "我"), "cjk-said": ("", "我住在东京的"), "kana": ("", "わたしは"), "hangul": ("", "나는"), "thai": ("", "ฉัน"),
    "marks": ("e", "\u0301"), "marked": ("", "e\u0301"), "zwj": ("", "👩\u200d"), "emoji": ("", "😀"), "rtl": ("", "שלום "),
    "rtl-marks": ("", "\u202e\u200f"), "at": ("", "@"), "mails": ("", "a.b@c.de "), "mail": ("", "a."), "url": ("http://", "a/"),
    "urls": ("", "http://a.b/c?d=e "), "path": ("", "/a"), "dollar": ("", "$"), "percent": ("", "%"), "key": ("", "key="),
    "brackets": ("", "[["), "braces": ("", "{{"), "link": ("", "[a]("), "bold": ("", "**a "), "hashes": ("", "# "),
    "backticks": ("", "`"), "fences": ("", "```\n"), "front": ("", "---\n"), "table": ("", "| a | b |\n"), "bullets": ("", "- a\n"),
    "numbered": ("", "1. a\n"), "quoted": ("", "> "), "tags": ("", "<b>"), "less": ("", "<"), "entity": ("", "&lt;"),
    "backslash": ("", "\\"), "apostrophe": ("", "a'"), "the": ("", "the "), "yes": ("", "yes no "), "my": ("", "my "),
    "base64": ("", "aGVsbG8"), "hex": ("", "deadbeef"), "phone": ("", "555-1234 "), "not": ("I do ", "not "), "never": ("", "I never "),
    "nul": ("", "\0"), "word": ("", "x"), "underscore": ("", "_"), "semicolon": ("", ";"), "colon": ("", "a:"),
    "particles": ("", "Anna van der "), "names": ("", "Anna "), "initials": ("", "A. "), "live": ("", "I live in "),
    "remember": ("", "remember that "), "forget": ("", "forget "), "said": ("", "he said that "), "user": ("", "user: hi\n"),
    "told": ("", "I like tea. "), "moved": ("", "I moved to Oslo. "), "nested": ("", "(a "), "german": ("", "ich wohne in "),
    "spanish": ("", "vivo en "), "french": ("", "j'habite à "), "reminder": ("", "<system-reminder>"), "secret": ("", "password: "),
    "json": ("", '{"a":'), "now": ("please don't", "\t"), "wait": ("oh it's actually a", "\t"),
}  # fmt: skip


def make(name: str, size: int) -> str:
    """Build a family's text of about this many characters."""
    head, body = FAMILIES[name]
    return head + body * ((size - len(head)) // len(body)) + "x"
