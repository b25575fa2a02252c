"""A model that gives recorded answers, and notices a prompt that is no longer the recorded one.

A step of a recording is written by reference, so that it can be read: a statement names no turn
(its quote does), a decision names statements by words of theirs. ``shown`` is a hash of what the
prompt showed, ``prompts`` has the hashes of the prompts' own texts.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.model.data import RECORDINGS
from engrams.errors import EngramsError
from engrams.extract.by_model.extraction import find_literal
from engrams.models.chat.usage import estimate_tokens
from engrams.prompts import load
from engrams.testing import ReceivedModelRequest
from engrams.text.normalize import fold

STEPS = ("extract", "reconcile", "arc")
_PLACE = re.compile(r"\\\{\\\{(\w+)\\\}\\\}")
_MESSAGE = re.compile(r'^\[(\d+)\] (.*?) on \w+ (\S+): (".*")$', re.MULTILINE)
_LINE = re.compile(r'^(\d+)\. (".*?(?<!\\)")', re.MULTILINE)


class RecordingError(EngramsError):
    """A prompt has no recorded answer, or not this one."""


@dataclass
class RecordedModel:
    """Answers of one conversation, in the order of its steps.

    ``record``: hashes are taken from the prompts instead of compared. ``calls`` and ``tokens``:
    what was asked; tokens are estimated.
    """

    id: str
    record: bool = False
    calls: int = 0
    tokens: int = 0
    problem: RecordingError | None = None
    _answered: dict[str, str] = field(default_factory=dict)
    _tries: Counter[str] = field(default_factory=Counter)
    _counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.data: dict[str, Any] = (
            json.loads(self.path.read_text("utf-8"))
            if self.path.exists()
            else {"conversation": self.id, "prompts": {}, "steps": []}
        )

    @property
    def path(self) -> Path:
        return RECORDINGS / f"{self.id}.json"

    def answer(self, request: ReceivedModelRequest) -> str:
        """Answer a prompt;
        what is wrong is kept for the end, because here a server would hide it.
        """
        try:
            text = self._find_answer(request.messages[0][1])
        except RecordingError as problem:
            self.problem = self.problem or problem
            text = "{}"
        self.calls += 1
        self.tokens += estimate_tokens(request.prompt) + estimate_tokens(text)
        return text

    def check(self) -> None:
        """Raise the first problem that there was."""
        if self.problem is not None:
            raise self.problem

    def close(self) -> None:
        """Write new hashes; an answer that nothing asked for is a problem too."""
        self.check()
        unused = [
            step["step"]
            for step in self.data["steps"]
            if step["step"] not in self._answered.values()
        ]
        if unused:
            raise RecordingError(
                f"{self.path} answers {', '.join(unused)}, which the product does not ask.",
                hint=_hint(self.id),
            )
        if self.record:
            self.path.write_text(format_recording(self.data), "utf-8")

    def _find_answer(self, prompt: str) -> str:
        kind, values = split_prompt(prompt)
        shown = _hash_shown(values)
        if shown not in self._answered:
            self._counts[kind] += 1
            self._answered[shown] = f"{kind} {self._counts[kind]}"
        name = self._answered[shown]
        step = next((step for step in self.data["steps"] if step["step"] == name), None)
        if step is None:
            raise RecordingError(
                f"{self.path} has no step {name!r} for this prompt:\n{_format_shown(values)}",
                hint=_hint(self.id),
            )
        if self.record:
            step["shown"] = shown
            self.data["prompts"][kind] = load(kind).hash
        elif self.data["prompts"].get(kind) != load(kind).hash:
            raise RecordingError(
                f"The prompt src/engrams/prompts/{kind}.md is not the one that {self.path}"
                " answers.",
                hint=_hint(self.id),
            )
        elif step.get("shown") != shown:
            raise RecordingError(
                f"Step {name!r} of {self.path} answers a prompt that showed something"
                f" else:\n{_format_shown(values)}",
                hint=_hint(self.id),
            )
        first = step.get("first", [])
        self._tries[name] += 1
        if self._tries[name] <= len(first):
            return str(first[self._tries[name] - 1])
        fill = {"extract": _fill_extraction, "reconcile": _fill_decisions}.get(kind)
        rows = fill(step, values) if fill else step["answer"]
        text = json.dumps(rows, ensure_ascii=False)
        return str(step["around"]).replace("JSON", text) if "around" in step else text


def _hint(id: str) -> str:
    return f"Read the prompt, mend the answers, then: python -m bench.model record --only {id}"


def split_prompt(prompt: str) -> tuple[str, dict[str, str]]:
    """Return which prompt it is, and what stands in its places."""
    for kind in STEPS:
        pattern = _PLACE.sub(lambda place: f"(?P<{place[1]}>.*?)", re.escape(load(kind).text))
        if found := re.fullmatch(pattern, prompt, re.DOTALL):
            return kind, found.groupdict()
    raise RecordingError(
        f"No recording has such a prompt:\n{prompt[:400]}", hint=f"Recorded are {', '.join(STEPS)}."
    )


def _format_shown(values: dict[str, str]) -> str:
    return "\n\n".join(f"{name}:\n{value}" for name, value in values.items())


def format_recording(data: dict[str, Any]) -> str:
    """Write a recording with one line for each statement and decision."""
    listing = ",\n".join(_format_step(step) for step in data["steps"])
    head = (
        f' "conversation": {_to_line(data["conversation"])},\n "prompts":'
        f" {_to_line(data['prompts'])},"
    )
    return f'{{\n{head}\n "steps": [\n{listing}\n ]\n}}\n'


def _format_step(step: dict[str, Any]) -> str:
    rows = step["answer"]
    head = "".join(
        f'"{name}": {_to_line(value)}, ' for name, value in step.items() if name != "answer"
    )
    if not (rows and isinstance(rows, list)):
        return f'  {{{head}"answer": {_to_line(rows)}}}'
    lines = ",\n".join(f"   {_to_line(row)}" for row in rows)
    return f'  {{{head}"answer": [\n{lines}\n  ]}}'


def _to_line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _hash_shown(values: dict[str, str]) -> str:
    """Hash what a prompt showed, whatever the order and the numbers of what is known."""
    lines = sorted(
        re.sub(r"^\d+\. |^- ", "", line) for line in values.get("known", "").splitlines()
    )
    shown = "\n".join([*lines, values.get("turns") or values["new"]])
    return hashlib.blake2b(shown.encode(), digest_size=8).hexdigest()


def _fill_extraction(step: dict[str, Any], values: dict[str, str]) -> dict[str, Any]:
    messages = read_messages(values["turns"])
    rows = []
    for row in step["answer"]:
        turn = next(
            (number for number, text in messages.items() if find_literal(row["quote"], text)), 0
        )
        if not turn and not row.get("mistake"):
            raise RecordingError(
                f"Step {step['step']!r} quotes {row['quote']!r}, which its prompt does not show.",
                hint="Quote what it shows.",
            )
        rows.append(
            {"turn": turn or 1, **{name: value for name, value in row.items() if name != "mistake"}}
        )
    return {"statements": rows}


def _fill_decisions(step: dict[str, Any], values: dict[str, str]) -> dict[str, Any]:
    """Put in the numbers; a statement that no decision is about is added."""
    known = read_list(values["known"])
    new = read_list(values["new"])
    rows = {
        number: {
            "new": number,
            "reason": "new",
            "known": [],
            "earlier": [],
            "verdict": "add",
            "confidence": "high",
        }
        for number in new
    }
    for given in step["answer"]:
        number = _find_number(given["new"], new, step["step"])
        rows[number] = {
            **rows[number],
            **given,
            "new": number,
            "known": [_find_number(words, known, step["step"]) for words in given.get("known", ())],
            "earlier": [
                _find_number(words, new, step["step"]) for words in given.get("earlier", ())
            ],
        }
    return {"decisions": list(rows.values())}


def read_messages(shown: str) -> dict[int, str]:
    return {int(number): json.loads(text) for number, _, _, text in _MESSAGE.findall(shown)}


def read_list(listing: str) -> dict[int, str]:
    return {int(number): json.loads(text) for number, text in _LINE.findall(listing)}


def _find_number(words: str | int, listing: dict[int, str], step: str) -> int:
    if isinstance(words, int):
        return words
    found = [number for number, text in listing.items() if fold(words) in fold(text)]
    if len(found) != 1:
        raise RecordingError(
            f"Step {step!r} names {words!r}, held by {len(found)} of {listing}.",
            hint="Give words of one of them.",
        )
    return found[0]
