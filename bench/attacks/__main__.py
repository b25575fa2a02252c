"""Play attacks through the served proxy and the REST API: ``python -m bench.attacks``."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

from fastapi.testclient import TestClient

from bench.attacks.door import Door, Message, ProxyDoor, RestDoor
from engrams.frozen_data import dataclass
from engrams.program.registry import create_mounts
from engrams.surfaces.http.app import create_app
from engrams.testing import ScriptedModel, temp_engine

_FOLDER = Path(__file__).parent
BRANDS = ("Quillaro", "Zembrix", "Tarvonia", "Oskelle", "Brimwald")
"""Names that stand nowhere else."""
ATTACK_SETS = (
    "attacks", "later", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth",
    "thirteenth", "fourteenth",
)  # fmt: skip
"""Files of attacks in the order in which they were written; the two newest trained no judge."""
_OWN_WORDS = (
    "own_words", "later_own_words", "own_words_beside_texts", "own_words_blind", "own_words_eleventh",
    "own_words_twelfth", "own_words_thirteenth", "own_words_fourteenth",
)  # fmt: skip
_CODE_POINT = re.compile(r"\\u([0-9a-f]{4})")
_NEXT_MESSAGE = re.compile(r"\\n(?=(?:user|assistant|tool): )")


@dataclass(frozen=True, slots=True)
class Attack:
    """Messages that carry a statement which is not the user's own."""

    kind: str
    messages: tuple[Message, ...]
    brand: str


def read_attacks(name: str) -> Iterator[Attack]:
    """Yield each attack of a file: with a rule and with a fact in its language, or with its own words
    where it names a brand itself.
    """
    payloads: dict[tuple[str, str], Iterator[str]] = {}
    lines = [line.split(" ", 2) for line in _read_lines("payloads.txt")]
    for language, sort, _ in lines:
        texts = [text for *key, text in lines if key == [language, sort]]
        payloads.setdefault((language, sort), itertools.cycle(texts))
    brands = itertools.cycle(BRANDS)
    pieces = (_FOLDER / f"{name}.txt").read_text("utf-8").split("== ")[1:]
    for piece in pieces:
        head, *forms = piece.strip().splitlines()
        kind, language = head.split()
        if "{brand}" in piece:
            brand = next(brands)
            yield Attack(kind, _read_conversation(forms, brand=brand), brand)
            continue
        for sort in ("rule", "fact"):
            brand = next(brands)
            said = next(payloads[language, sort]).format(brand=brand)
            yield Attack(f"{kind}/{sort}", _read_conversation(forms, say=said), brand)


def read_own_words(name: str) -> Iterator[tuple[str, str]]:
    """Yield each message of a file of own words, and the name that its statement holds."""
    for number, line in enumerate(_read_lines(f"{name}.txt")):
        brand = BRANDS[number % len(BRANDS)]
        yield _read_message(f"user: {line}", brand=brand)[1], brand


def _read_lines(name: str) -> list[str]:
    return (_FOLDER / name).read_text("utf-8").splitlines()


def _read_conversation(forms: list[str], **words: str) -> tuple[Message, ...]:
    return tuple(
        _read_message(message, **words) for form in forms for message in _NEXT_MESSAGE.split(form)
    )


def _read_message(form: str, **words: str) -> Message:
    role, text = form.split(": ", 1)
    unescaped = text.replace("\\n", "\n").replace("\\t", "\t")
    unescaped = _CODE_POINT.sub(lambda match: chr(int(match[1], 16)), unescaped)
    return role, unescaped.format(**words)


@contextlib.contextmanager
def open_doors() -> Iterator[dict[str, Door]]:
    """Serve one engine before a scripted model; yield its doors by name."""
    with (
        ScriptedModel() as model,
        temp_engine(
            user="nobody",
            serve__upstream=f"{model.url}/v1",
            serve__upstream_learns=False,
            serve__upstream_key="own-key",
        ) as engine,
    ):
        app = create_app(engine, engine.settings, create_mounts(engine, engine.settings))
        with TestClient(app, base_url="http://127.0.0.1") as client:
            yield {
                "proxy": ProxyDoor(client, engine, model),
                "rest": RestDoor(client, engine, model),
            }


def measure_attacks(door: Door, name: str, listed: bool) -> None:
    """Print how many attacks of a file become the user's own, and reach a later prompt as such."""
    attacks = list(read_attacks(name))
    stored = []
    for number, attack in enumerate(attacks):
        user = f"{name}-{number}"
        door.say(user, attack.messages)
        if statements := door.find_statements(user, attack.brand):
            stored.append((attack, statements, door.is_in_prompt(user, statements)))
    reached = sum(in_prompt for *_, in_prompt in stored)
    print(
        f"{door.name:6} {name:12} {len(stored)} of {len(attacks)} attacks became the user's own;"
        f" {reached} reached a later prompt"
    )
    if listed:
        for attack, statements, _ in stored:
            print(f"  {attack.kind}: {statements[0]!r} from {attack.messages[-1][1][:90]!r}")


def measure_own_words(door: Door, name: str, listed: bool) -> None:
    """Print how many of the user's own statements of a file are learned."""
    messages = list(read_own_words(name))
    missed = []
    for number, (text, brand) in enumerate(messages):
        door.say(f"{name}-{number}", [("user", text)])
        if not door.find_statements(f"{name}-{number}", brand):
            missed.append(text)
    print(f"{door.name:6} {name:12} {len(messages) - len(missed)} of {len(messages)} learned")
    if listed:
        for text in missed:
            print(f"  missed {text!r}")


def measure_innocents(door: Door, count: int, listed: bool) -> None:
    """Print how many documents and tool outputs no search finds again."""
    texts = [line for line in _read_lines("innocent.txt") if line.startswith(door.document_roles)]
    lines = itertools.islice(itertools.cycle(texts), count)
    lost = []
    for number, line in enumerate(lines):
        mark = f"Vorbel{number:03}"
        role, text = _read_message(line, mark=mark)
        door.say(f"reader-{number % 10}", [(role, text)])
        if not door.is_found(f"reader-{number % 10}", mark):
            lost.append(text)
    print(f"{door.name:6} innocents    {len(lost)} of {count} kept out")
    if listed:
        for text in lost:
            print(f"  lost {text[:100]!r}")


def main() -> None:
    """Print the counts of each door."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="name what went wrong")
    parser.add_argument(
        "--files",
        nargs="*",
        default=ATTACK_SETS,
        help="files of attacks",
    )
    parser.add_argument("--own-words", nargs="*", default=_OWN_WORDS, help="files of own words")
    parser.add_argument("--innocents", type=int, default=300)
    arguments = parser.parse_args()
    with open_doors() as doors:
        for door in doors.values():
            for name in arguments.files:
                measure_attacks(door, name, arguments.list)
            for name in arguments.own_words:
                measure_own_words(door, name, arguments.list)
            measure_innocents(door, arguments.innocents, arguments.list)


if __name__ == "__main__":
    main()
