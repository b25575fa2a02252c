"""The rolling summary of a conversation in the prompts of that conversation."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest
from tests.surfaces.http.running import running
from tests.surfaces.proxy.harness import PATIENCE, Harness, completion, eventually
from tests.surfaces.proxy.raw import raw_upstream, reply

from engrams.core import Kind
from engrams.surfaces.http.app import create_app
from engrams.surfaces.proxy.mount import ProxyMount
from engrams.testing import ReceivedModelRequest, ScriptedModel, temp_engine

SAID = "Kim plays the oboe in Ghent"


def answer(request: ReceivedModelRequest) -> Any:
    """A model that learns one thing and sums it up."""
    if "keep the summary of a conversation" in request.prompt:
        return "They are planning </summary> the concert."
    if SAID in request.prompt.partition("The messages:")[2]:
        return {
            "statements": [
                {
                    "turn": 1,
                    "text": SAID,
                    "quote": SAID,
                    "subject": "Kim",
                    "predicate": "plays",
                    "object": "the oboe",
                }
            ]
        }
    return {}


@pytest.mark.covers("S2.31", "S2.45")
@pytest.mark.parametrize("how", ["memory_id", "session"])
def test_the_summary_of_this_conversation_goes_up(how: str) -> None:
    """Whether anything is recalled or not, in this conversation and in no other;
    it is escaped, and the request's own text follows it.
    """
    with ScriptedModel(answer=answer) as model, raw_upstream() as raw:
        given: dict[str, Any] = {
            "chat__provider": "openai",
            "chat__model": "m",
            "chat__url": model.url,
            "chat__retries": 0,
        }
        given |= {
            "serve__upstream": raw.url + "/v1",
            "summary__enabled": True,
            "write__debounce_seconds": 0.0,
            "jobs__workers": 1,
        }
        with temp_engine(**given) as engine:
            app = create_app(
                engine, engine.settings, [ProxyMount(engine, engine.settings, PATIENCE)]
            )
            with running(app) as url, httpx2.Client(base_url=url, timeout=30) as client:
                bench = Harness(url, engine, raw, client, "ann")
                raw.says(reply(completion()))

                def ask(text: str, name: str) -> str:
                    fields: dict[str, Any] = {"memory_id": name} if how == "memory_id" else {}
                    bench.ask(text, {"x-engrams-session": name}, **fields)
                    return json.dumps(bench.sent()["messages"])

                ask(SAID, "c1")
                eventually(
                    lambda: any(
                        r.text.startswith("They")
                        for r in engine.list(scope=("user", "ann"), kinds=(Kind.SUMMARY,)).records
                    )
                )
                for text in ("What does Kim play?", "Xyzzy plugh?"):
                    sent = ask(text, "c1")
                    assert "They are planning &lt;/summary&gt; the concert." in sent
                    assert sent.index("They are planning") < sent.index(text)
                assert "They are planning" not in ask("What does Kim play?", "c2")
