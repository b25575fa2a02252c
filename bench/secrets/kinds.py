"""Made-up secrets: each kind is a template, drawn anew for each form that it is written in.

``vendor_keys.txt``: keys with a form of their own, each with its name, the variable that holds it
and its template. ``spoken.txt``: secrets that only their surroundings tell, in five sentences each.
"""

from __future__ import annotations

import base64
import hashlib
import random
import re
from collections.abc import Iterator
from pathlib import Path

from engrams.frozen_data import dataclass

_ALPHABETS = {
    "d": "0123456789",
    "h": "0123456789abcdef",
    "l": "abcdefghijklmnopqrstuvwxyz",
    "U": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "X": "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
    "x": "abcdefghijklmnopqrstuvwxyz0123456789",
    "a": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
    "b": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    "w": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
    "s": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
}
_SLOT = re.compile(r"\{(\w):(\d+)\}")
_FOLDER = Path(__file__).parent
_WORDS = (
    "abandon ability able about above absent absorb abstract absurd abuse access accident account accuse"
    " achieve acid acoustic acquire across act action actor actress actual adapt add addict address"
).split()  # fmt: skip


@dataclass(frozen=True, slots=True)
class MadeUpSecret:
    """One secret in a text."""

    kind: str
    text: str
    secret: str
    """The part that must not be stored."""


def make_secrets(seed: int = 20261128) -> Iterator[MadeUpSecret]:
    """Make every kind in its five forms; the same seed makes the same."""
    draw = random.Random(seed)
    for line in (_FOLDER / "vendor_keys.txt").read_text("utf-8").splitlines():
        kind, variable, template = line.split()
        for form in (
            "{v} is for {kind}, take it",
            "{variable}={v}",
            '"{variable}": "{v}",',
            "the {kind} key is {v}",
            "Authorization: Bearer {v}",
        ):
            value = fill_template(template, draw)
            stated = form
            if kind in _BARE and form.startswith("{v}"):
                stated = "export {variable}='{v}'"
            text = stated.format(v=value, kind=kind, variable=variable)
            yield MadeUpSecret(kind, text, value)
    kind = ""
    for line in (_FOLDER / "spoken.txt").read_text("utf-8").splitlines():
        if line.startswith("== "):
            kind = line.removeprefix("== ")
            continue
        form = line.replace("\\n", "\n")
        values = _draw_values(draw)
        slots = [name for name in values if f"{{{name}}}" in form]
        yield MadeUpSecret(kind, form.format(**values), values[slots[-1]])


_BARE = ("aws-secret", "cloudinary", "gitea", "algolia", "datadog", "mailchimp")
"""Kinds without a form of their own: alone they are any other text."""


def fill_template(template: str, draw: random.Random) -> str:
    """Fill the slots of a template: ``{h:40}`` becomes forty hex digits."""
    return _SLOT.sub(
        lambda match: "".join(draw.choices(_ALPHABETS[match[1]], k=int(match[2]))), template
    )


def _draw_values(draw: random.Random) -> dict[str, str]:
    """Draw a value of each sort that the sentences name."""
    word = draw.choice(
        ("bungalow", "Correct", "hunter", "Blue-Horse", "pa55w0rd", "Winter", "otter")
    )
    values = {
        "p": draw.choice(
            (
                f"{word}-{fill_template('{l:5}', draw)}-{draw.randint(10, 99)}",
                fill_template("{a:12}", draw) + "7x",
                f"{word}{draw.randint(100, 9999)}!",
                f"{word}2{word}2",
            )
        ),
        "t": fill_template("{h:20}", draw) + "7c3d",
        "n": str(draw.randint(1023, 987654)),
        "m": "\n".join(base64.b64encode(draw.randbytes(48)).decode() for _ in range(4)),
        "w12": " ".join(draw.sample(_WORDS, 12)),
        "h5": fill_template("{h:5}", draw),
        "d4": fill_template("{d:4}", draw),
        "X32": base64.b32encode(hashlib.sha256(draw.randbytes(8)).digest()[:20]).decode(),
        "h64": fill_template("{h:64}", draw),
        "b27": fill_template("{b:27}", draw),
    }
    values |= {f"a{size}": fill_template(f"{{a:{size}}}", draw) for size in (8, 22, 43, 53, 86)}
    values |= {f"s{size}": fill_template(f"{{s:{size}}}", draw) for size in (50, 51, 96)}
    return values
