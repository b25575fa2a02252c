"""The memory graph's document (003): a slip of the tongue that is put right at once, with a model
that learns, by the engine of that preset.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import Kind, Record
from engrams.frozen_data import dataclass
from engrams.testing import ReceivedModelRequest, ScriptedModel, SettableClock

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
HEARD = "Below are numbered messages"


@dataclass(frozen=True, slots=True)
class Slip:
    """A statement with a wrong value, and the message that puts it right."""

    said: str
    message: str
    wrong: str
    right: str

    @property
    def meant(self) -> str:
        return self.said.replace(self.wrong, self.right)


SLIPS = (
    Slip("My dentist appointment is on Friday.", "No, I meant Thursday.", "Friday", "Thursday"),
    Slip("Der Umzug ist am Samstag.", "Quatsch, ich meinte Sonntag.", "Samstag", "Sonntag"),
    Slip("La cena es a las 20:30.", "Perdón, quise decir 21:30.", "20:30", "21:30"),
    Slip("Le train part à 15:30.", "Pardon, je voulais dire 16:30.", "15:30", "16:30"),
    Slip("面试在星期五。", "不，我是说星期四。", "星期五", "星期四"),
    Slip("面接は金曜日です。", "いや、木曜日のつもりでした。", "金曜日", "木曜日"),
)


def state(number: int, text: str, quote: str, value: str) -> dict[str, Any]:
    return {
        "turn": number,
        "text": text,
        "quote": quote,
        "subject": "user",
        "predicate": "noted",
        "object": value,
        "kind": "fact",
        "confidence": 0.9,
    }


def listen(request: ReceivedModelRequest, understood: str) -> dict[str, Any]:
    """Learn what is said, and of a slip what the model understood."""
    if HEARD not in request.prompt:
        return {"decisions": []}
    messages = request.prompt.partition("The messages:")[2].splitlines()
    rows = []
    for number, line in enumerate((line for line in messages if line.startswith("[")), 1):
        for slip in SLIPS:
            if slip.said in line:
                rows.append(state(number, slip.said, slip.said, slip.wrong))
            if slip.message not in line:
                continue
            if understood == "a fragment":
                rows.append(state(number, slip.message, slip.message, slip.right))
            elif understood == "everything":
                rows.append(state(number, slip.meant, slip.message, slip.right))
    return {"statements": rows}


def list_facts(engine: MemoryEngine, owner: tuple[str, str]) -> Sequence[Record]:
    return engine.list(scope=owner, kinds=(Kind.FACT,)).records


@pytest.mark.covers("S3.40")
@pytest.mark.parametrize("trigger", ["batch", "turn"])
@pytest.mark.parametrize("understood", ["nothing", "a fragment", "everything"])
def test_a_slip_is_put_right_whatever_the_model_understood(
    home: Path, trigger: str, understood: str
) -> None:
    """The one current fact has the right value, whether the slip was learned from at once or in a
    job of its own; what the model made of the slip alone is no fact.
    """
    clock = SettableClock(START)
    with (
        ScriptedModel(answer=lambda request: listen(request, understood)) as model,
        engrams.open(
            home=home,
            preset="graph",
            clock=clock,
            jobs__workers=0,
            vault__enabled=False,
            sessions__trigger=trigger,
            chat__provider="openai",
            chat__model="m",
            chat__url=model.url,
            chat__retries=0,
        ) as engine,
    ):
        for number, slip in enumerate(SLIPS):
            owner = ("user", f"u{number}")
            for text in (slip.said, slip.message):
                engine.observe(Turn(text, session="s"), scope=owner)
                clock.forward(seconds=40)
                engine.drain()
            texts = [fact.text.rstrip(".。") for fact in list_facts(engine, owner)]
            assert texts == [slip.meant.rstrip(".。")], slip
            hits = engine.search(slip.said, scope=owner).hits
            told = [hit.record.text for hit in hits if not hit.tell_end()]
            assert not [text for text in told if slip.wrong in text], slip
