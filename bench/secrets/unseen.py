"""Secrets and ordinary messages by other hands than those that the detection was tuned on.

``unseen.txt``: a kind with the template of its value, then five forms: a text, a tag, a trigger, a
file name and a note of a tool. ``unseen_ordinary.txt``: messages without a secret. ``third.txt`` and
``third_ordinary.txt``: the same, later, in three forms and more languages. ``fourth.txt``: a hundred
kinds more, measured beside the third's ordinary messages. The third's held kinds were read since.
Every second kind is ``held``: its misses were never looked at while the detection was changed.
"""

from __future__ import annotations

import base64
import random
import uuid
from collections.abc import Iterator
from pathlib import Path

from bench.secrets.kinds import MadeUpSecret, fill_template

_FOLDER = Path(__file__).parent
_WORDS = (
    "sunshine correct horse battery staple winter coffee dragon mountain purple monkey garden"
    " window silver bridge summer apple tiger happy cloud"
).split()
_SEED_WORDS = (
    "ribbon orchard velvet canyon tourist gravity lemon puzzle humble walnut cricket fabric rescue"
    " marble oxygen phrase satisfy tunnel upgrade vivid"
).split()


def make_unseen_secrets(
    held: bool, seed: int = 20261128, name: str = "unseen"
) -> Iterator[MadeUpSecret]:
    """Make the kinds of one half of a file in their forms; the same seed makes the same."""
    draw = random.Random(seed)
    kind = template = ""
    number = -1
    for line in (_FOLDER / f"{name}.txt").read_text("utf-8").splitlines():
        if line.startswith("== "):
            kind, template = line.removeprefix("== ").split(" ", 1)
            number += 1
            continue
        value = _draw_value(template, draw)
        if (number % 2 == 1) != held:
            continue
        text = line.replace("\\n", "\n").format(v=value)
        yield MadeUpSecret(kind, _without_door(text), value)


def make_unseen_messages(
    count: int = 400, seed: int = 20261128, name: str = "unseen"
) -> Iterator[str]:
    """Make each ordinary message, and further ones with other parts until there are enough."""
    draw = random.Random(seed)
    lines = (_FOLDER / f"{name}_ordinary.txt").read_text("utf-8").splitlines()
    for line in lines + draw.sample(lines, count - len(lines)):
        yield _without_door(line.format(**_draw_parts(draw)))


def _without_door(text: str) -> str:
    """Remove the first word of a line that names a door: that text arrives there alone."""
    door, _, rest = text.partition(" ")
    if door in ("tag", "trigger", "file", "note", "reason", "meta"):
        return rest
    return text


def _draw_value(template: str, draw: random.Random) -> str:
    words = draw.sample(_WORDS, 4)
    mixed = (
        f"{words[0].title()}{draw.randint(10, 2099)}!",
        f"{words[0]}-{words[1]}-{draw.randint(2, 99)}",
        fill_template("{a:14}", draw),
        f"{words[0]}{words[1].title()}{draw.randint(1, 9)}",
    )
    plain = ("".join(words[:3]), "-".join(words[:3]), words[0] + words[1])
    values = {
        "{W}": draw.choice(plain),
        "{W4}": " ".join(words),
        "{L}": "-".join(f"{words[0]}{draw.randint(1, 9)}"),
        "{P}": draw.choice(mixed),
        "{B}": base64.b64encode(f"bob:{draw.choice(mixed)}".encode()).decode(),
        "{B32}": base64.b32encode(draw.randbytes(20)).decode(),
        "{N12}": " ".join(
            f"{place}. {word}" for place, word in enumerate(draw.sample(_SEED_WORDS, 12), 1)
        ),
        "{card}": _draw_card(draw),
        "{iban}": _draw_iban(draw),
    }
    return values.get(template) or fill_template(template, draw)


def _draw_card(draw: random.Random) -> str:
    digits = [4, *draw.choices(range(10), k=14)]
    doubled = [digit * 2 if place % 2 == 0 else digit for place, digit in enumerate(digits)]
    total = sum(digit - 9 if digit > 9 else digit for digit in doubled)
    number = "".join(map(str, digits)) + str(-total % 10)
    return " ".join(number[at : at + 4] for at in range(0, 16, 4))


def _draw_iban(draw: random.Random) -> str:
    account = "".join(map(str, draw.choices(range(10), k=18)))
    check = 98 - int(f"{account}131400") % 97
    number = f"DE{check:02}{account}"
    return " ".join(number[at : at + 4] for at in range(0, 22, 4))


def _draw_parts(draw: random.Random) -> dict[str, object]:
    def digits(size: int, alphabet: str = "0123456789abcdef") -> str:
        return "".join(draw.choices(alphabet, k=size))

    return {
        "n": draw.randint(3, 99),
        "d": draw.randint(2, 9),
        "two": draw.randint(10, 59),
        "hour": draw.randint(8, 19),
        "zip": digits(5, "123456789"),
        "area": digits(3, "123456789"),
        "order": digits(9, "123456789"),
        "version": f"{draw.randint(0, 9)}.{draw.randint(0, 30)}.{draw.randint(0, 9)}",
        "package": draw.choice(("httpx", "numpy", "serde")),
        "commit": digits(8),
        "span": digits(16),
        "md5": digits(32),
        "sha": digits(40),
        "hash": digits(64),
        "uuid": uuid.UUID(int=draw.getrandbits(128), version=4),
        "integrity": fill_template("{b:86}", draw),
        "doc": fill_template("{w:44}", draw),
        "fp": fill_template("{b:43}", draw),
    }
