"""Ask the running server of a home, which is quicker."""

from __future__ import annotations

import http.client
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from engrams.surfaces.hook.agentevents import AgentHookEvent, HookCallOptions, HookEventMessage, project_name

_BATCH = 100
_PLAIN_SETTINGS = {"home", "user"}
_PLAIN_VARIABLES = {"ENGRAMS_HOME", "ENGRAMS_USER"}


def answer_by_server(call: HookCallOptions, event: AgentHookEvent, messages: Sequence[HookEventMessage]) -> str | None:
    """Recall and store at the server; None: there is none that can.

    A server has settings of its own, so a call with other settings than home and user is none for it."""
    variables = {name for name in os.environ if name.startswith("ENGRAMS_")}
    url = "" if set(call.settings) - _PLAIN_SETTINGS or variables - _PLAIN_VARIABLES else find_server(call.settings.get("home"))
    if not url:
        return None
    user = str(call.settings.get("user") or os.environ.get("ENGRAMS_USER", ""))
    server = _ServerConnection(url, user, project_name(event, call.project), call.seconds / 2)
    try:
        text = _recall(server, event, call.tokens)
        for first in range(0, len(messages), _BATCH):
            sent = [{"role": one.role, "content": one.text, "external_id": one.key} for one in messages[first : first + _BATCH]]
            server.post("/v1/memories", {"messages": sent, "session": event.session})
        if event.name == "SessionEnd" and event.session:
            server.post(f"/v1/sessions/{quote(event.session, safe='')}/end", {}, missing=True)
    except (OSError, http.client.HTTPException, ValueError, KeyError):
        return None
    finally:
        server.close()
    return text


def find_server(home: str | None) -> str:
    """Return the URL of the server on a home; empty: none."""
    folder = Path(home or os.environ.get("ENGRAMS_HOME") or "~/.engrams").expanduser()
    try:
        noted = json.loads((folder / "serve.json").read_bytes())
        os.kill(int(noted["pid"]), 0)
        return str(noted["url"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _recall(server: _ServerConnection, event: AgentHookEvent, tokens: int | None) -> str:
    budget = {} if tokens is None else {"tokens": tokens}
    if event.name == "SessionStart":
        return str(server.post("/v1/context", {"query": "", **budget})["text"])
    if event.name != "UserPromptSubmit" or not event.prompt:
        return ""
    made = server.post("/v1/context", {"query": event.prompt, "session": event.session, **budget})
    return "" if made["abstain"] else str(made["tail"])


class _ServerConnection:
    """Send requests for one person and project to one server."""

    def __init__(self, url: str, user: str, project: str, seconds: float) -> None:
        parts = urlsplit(url)
        self._link = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=seconds)
        self._headers = {"Content-Type": "application/json", **({"X-Engrams-User": quote(user)} if user else {})}
        self._query = "?" + urlencode({"project": project}) if project else ""

    def post(self, path: str, body: Mapping[str, Any], *, missing: bool = False) -> Any:
        """Post JSON, return JSON.

        OSError: any answer but success (``missing``: or not found)."""
        self._link.request("POST", path + self._query, json.dumps(body).encode(), self._headers)
        answer = self._link.getresponse()
        told = answer.read()
        if answer.status >= 400 and not (missing and answer.status in (404, 409)):
            raise OSError(f"the server answered {answer.status}")
        return json.loads(told or b"null")

    def close(self) -> None:
        self._link.close()
