"""The three layers' document (004):
every end of a session runs one finalisation, and a shutdown waits for no model.
"""

from __future__ import annotations

import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.process import Door, eventually, run, served

import engrams
from engrams import Turn
from engrams.testing import ReceivedModelRequest, ScriptedModel, ScriptedReply

SAID = (
    "On Monday I planted twelve apple trees behind the barn.",
    "My neighbour Sven lent me his digger for it.",
    "Tomorrow I will order the fence against the deer.",
)
LAYERS = ("--preset", "layers", "--user", "pia")
ACCOUNT = "Write a short account"


def answer(request: ReceivedModelRequest) -> Any:
    """A model that finds nothing to learn, and writes accounts."""
    if ACCOUNT in request.prompt:
        return {"themes": ["apples"], "summary": "They spoke of apple trees."}
    return ScriptedReply("I see.") if request.schema is None else {"statements": []}


def accounts(home: Path) -> list[str]:
    listed = run(home, *LAYERS, arguments=("list", "--kind", "episode", "--json"))
    return re.findall(r'"text": ?"([^"]*)"', listed)


@pytest.mark.covers("S4.45")
@pytest.mark.parametrize("last", ["/quit\n", "/end\n", ""], ids=["quit", "end", "end of input"])
def test_the_chat_ends_its_session(home: Path, last: str) -> None:
    """Whichever way a chat in the terminal is left, its account is there when the command is done."""
    run(home, *LAYERS, arguments=("chat",), stdin="\n".join(SAID) + "\n" + last)
    assert len(accounts(home)) == 1


@pytest.mark.covers("S4.45")
def test_closing_ends_what_turns_began(home: Path) -> None:
    """A turn that names a session begins it here, so the close of the engine ends it;
    a command is one step, and ends none.
    """
    with engrams.open(home=home, preset="layers") as engine:
        for text in SAID:
            engine.observe(Turn(text, session="c"), scope=("user", "pia"))
    with engrams.open(home=home, preset="layers", background=False) as engine:
        (ended,) = engine.sessions.list(scope=("user", "pia"))
        assert (ended.state, ended.ended["why"], len(ended.ended["episodes"])) == (
            "rotation_required",
            "shutdown",
            1,
        )
    run(home, *LAYERS, arguments=("add", "--session", "d", SAID[0]))
    with engrams.open(home=home, preset="layers", background=False) as engine:
        assert engine.sessions.state("d", scope=("user", "pia")) in ("active", "absent")


def tell(door: Door, session: str) -> None:
    for text in SAID:
        door.post(
            "/v1/chat/completions",
            {"model": "m", "messages": [{"role": "user", "content": text}]},
            x_engrams_user="pia",
            x_engrams_session=session,
        )


def is_learned(door: Door) -> bool:
    counts = door.get("/v1/jobs")["jobs"].get("extract", {})
    return bool(counts) and not counts.get("waiting") and not counts.get("running")


@pytest.mark.covers("S4.45")
@pytest.mark.slow
def test_the_end_of_the_server_waits_for_no_model(home: Path) -> None:
    """SIGTERM ends the sessions that turns began;
    where the model hangs, the drain time passes, and the next start writes its account.
    """
    with ScriptedModel(answer=answer) as model:
        chat = ("chat.provider=openai", "chat.model=m", f"chat.url={model.url}/v1")
        options = [
            "--upstream",
            f"{model.url}/v1",
            *(part for setting in chat for part in ("--set", setting)),
        ]
        with served("layers", home, model, *options) as door:
            tell(door, "quick")
            eventually(lambda: is_learned(door))
        assert accounts(home) == ["They spoke of apple trees."]
        with served(
            "layers", home, model, *options, "--set", "sessions.shutdown_seconds=1"
        ) as door:
            tell(door, "slow")
            model.fail("hang", times=99, when=ACCOUNT)
            begun = time.monotonic()
        assert time.monotonic() - begun < 15, signal.SIGTERM
        assert len(accounts(home)) == 1, "no account was made up in a hurry"
        model.heal()
        with served("layers", home, model, *options) as door:
            ended = eventually(
                lambda: (
                    door.client.get("/v1/sessions/slow", headers={"x-engrams-user": "pia"})
                    .json()
                    .get("ended")
                )
            )
            assert ended["why"] == "shutdown"
        assert accounts(home) == ["They spoke of apple trees."] * 2
