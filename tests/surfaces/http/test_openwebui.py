"""The filter for Open WebUI, loaded and called as Open WebUI does it, against a real server."""

from __future__ import annotations

import asyncio
import inspect
import re
import subprocess
import sys
import types
import venv
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.http.running import running

from engrams import MemoryEngine, __version__, composition
from engrams.api_keys import ApiKeyStore
from engrams.core import Scope
from engrams.program.registry import create_app
from engrams.settings import load

FILE = Path(__file__).resolve().parents[3] / "integrations" / "openwebui" / "engrams.py"
ANN = {"id": "ann-1", "name": "Ann", "role": "user"}
CHAT = {"chat_id": "c1", "message_id": "m1", "session_id": "s"}


class OpenWebUI:
    """How Open WebUI loads a function's text, fills its valves, and calls it with the arguments
    that it declares.
    """

    def __init__(self, **valves: Any) -> None:
        module = types.ModuleType("function_engrams")
        exec(FILE.read_text("utf-8"), module.__dict__)
        self.filter = module.Filter()
        self.saved = valves
        self.shown = list[str]()

    async def call(
        self,
        name: str,
        body: dict[str, Any],
        user: dict[str, Any] = ANN,
        metadata: dict[str, Any] = CHAT,
        **own: Any,
    ) -> Any:
        self.filter.valves = self.filter.Valves(**self.saved)
        handler = getattr(self.filter, name)
        given = {
            "__user__": {**user, "valves": self.filter.UserValves(**own)},
            "__metadata__": metadata,
            "__event_emitter__": self.emit,
        }
        asked = inspect.signature(handler).parameters
        return await handler(
            body=body, **{key: value for key, value in given.items() if key in asked}
        )

    async def emit(self, event: dict[str, Any]) -> None:
        assert event["type"] == "status"
        self.shown.append(event["data"]["description"])


def chat(*said: str, **more: Any) -> dict[str, Any]:
    """A request in which user and assistant spoke in turn."""
    roles = ("user", "assistant")
    return {
        "model": "m",
        "messages": [{"role": roles[at % 2], "content": text} for at, text in enumerate(said)],
        **more,
    }


@pytest.fixture
async def served(home: Path) -> AsyncIterator[tuple[MemoryEngine, str]]:
    settings = load({"home": str(home)}).settings
    with composition.open(settings) as engine, running(create_app(engine, settings)) as url:
        yield engine, url


async def test_a_chat_is_remembered_in_the_next(served: tuple[MemoryEngine, str]) -> None:
    """Message and answer are stored once with their chat;
    the next chat gets what its message needs; another user's does not.
    """
    engine, url = served
    webui = OpenWebUI(url=url)
    body = await webui.call("inlet", chat("I am allergic to nuts."))
    assert body["messages"][-1]["content"] == "I am allergic to nuts."
    for _ in range(2):
        await webui.call("outlet", chat("I am allergic to nuts.", "Noted."))
    turns = engine.list(
        scope=Scope(("user", "ann-1")),
        kinds=("turn",),
        order="oldest",
        statuses=("active", "archived"),
    ).records
    assert [(turn.role, turn.text, turn.session) for turn in turns] == [
        ("user", "I am allergic to nuts.", "c1"),
        ("assistant", "Noted.", "c1"),
    ]
    later = {**CHAT, "chat_id": "c2"}
    body = await webui.call("inlet", chat("What am I allergic to?"), metadata=later)
    assert "allergic to nuts" in body["messages"][-1]["content"] and body["messages"][-1][
        "content"
    ].endswith("What am I allergic to?")
    assert re.fullmatch(r"Recalled (?:\d+ memories|the profile)", webui.shown[-1])
    other = await webui.call(
        "inlet",
        chat("What am I allergic to?"),
        user={"id": "bob-2"},
        metadata={**CHAT, "chat_id": "c3"},
    )
    assert other["messages"][-1]["content"] == "What am I allergic to?"


async def test_a_message_keeps_its_picture(served: tuple[MemoryEngine, str]) -> None:
    """A message with a picture keeps it, with memory before it."""
    engine, url = served
    engine.add("I am allergic to nuts.", scope=("user", "ann-1"))
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    said = [{"type": "text", "text": "Am I allergic to what is in this bowl of nuts?"}, picture]
    body = await OpenWebUI(url=url).call("inlet", {"messages": [{"role": "user", "content": said}]})
    first, *rest = body["messages"][0]["content"]
    assert "allergic to nuts" in first["text"] and rest == said


async def test_tasks_temporary_chats_and_off_leave_nothing(
    served: tuple[MemoryEngine, str],
) -> None:
    """Tasks such as titles, temporary chats, users without memory and `store` off leave nothing
    behind.
    """
    engine, url = served
    webui = OpenWebUI(url=url)
    body = chat("I am allergic to nuts.")
    assert await webui.call("inlet", body, metadata={**CHAT, "task": "title_generation"}) is body
    await webui.call(
        "inlet", chat("I am allergic to nuts."), metadata={**CHAT, "chat_id": "local:x"}
    )
    await webui.call("inlet", chat("I am allergic to nuts."), enabled=False)
    await webui.call("inlet", chat())
    await OpenWebUI(url=url, store=False).call("inlet", chat("I am allergic to nuts."))
    assert engine.scopes() == ()


async def test_a_chat_continues_without_the_server(
    served: tuple[MemoryEngine, str], home: Path
) -> None:
    """The chat goes on, and a line under the message says why there is no memory;
    with a key it opens the key's memory.
    """
    _, url = served
    webui = OpenWebUI(url="http://127.0.0.1:9")
    body = await webui.call("inlet", chat("What am I allergic to?"))
    assert (
        body["messages"][-1]["content"] == "What am I allergic to?"
        and "not available" in webui.shown[0]
    )
    webui = OpenWebUI(url=url, key="engrams_wrong")
    await webui.call("inlet", chat("What am I allergic to?"))
    assert "key" in webui.shown[0]
    from engrams.core import clock

    _, secret = ApiKeyStore.open(home).add(
        "webui", Scope(("team", "x")), ("read", "write"), clock.now(), 1
    )
    webui = OpenWebUI(url=url, key=secret)
    await webui.call("inlet", chat("I am allergic to nuts."))
    assert webui.shown == []


def test_the_filter_file_begins_with_its_name_and_version() -> None:
    """Open WebUI reads name and version from the head, which begins the file;
    nothing has to be installed.
    """
    text = FILE.read_text("utf-8")
    assert (
        text.startswith('"""\ntitle: engrams\n')
        and f"\nversion: {__version__}\n" in text
        and "requirements:" not in text
    )
    assert not re.search(r"^(?:from|import) engrams", text, re.MULTILINE)


async def test_an_error_is_not_stored_as_an_answer(served: tuple[MemoryEngine, str]) -> None:
    """What stands in an answer's place when the model failed is not stored."""
    engine, url = served
    body = chat("I am allergic to nuts.", "model 'qwen3' not found")
    body["messages"][-1]["error"] = {"content": "model 'qwen3' not found"}
    await OpenWebUI(url=url).call("outlet", body)
    assert engine.scopes() == ()


def fetch_plugin_code(folder: Path) -> None:
    """Unpack the loader and the filter runner of Open WebUI's current release;
    nothing of it is installed.
    """
    venv.create(folder / "pip", with_pip=True)
    fetch = [
        str(folder / "pip/bin/python"),
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "--only-binary",
        ":all:",
        "-d",
        str(folder),
    ]
    subprocess.run([*fetch, "--python-version", "3.12", "open-webui"], check=True)
    (wheel,) = folder.glob("open_webui-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for name in ("plugin", "filter"):
            archive.extract(f"open_webui/utils/{name}.py", folder)


@pytest.mark.slow
async def test_open_webuis_own_loader_runs_the_filter(
    served: tuple[MemoryEngine, str], tmp_path: Path
) -> None:
    """The published release loads the file, fills its valves and runs it around chats;
    only its settings and tables are stood in for.
    """
    engine, url = served
    await asyncio.to_thread(fetch_plugin_code, tmp_path)
    script = Path(__file__).parent / "check_openwebui.py"
    command = [sys.executable, str(script), str(tmp_path), str(FILE), url]
    done = await asyncio.to_thread(
        subprocess.run, command, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = [
        turn.text
        for turn in engine.list(
            scope=Scope(("user", "ann-1")), kinds=("turn",), statuses=()
        ).records
    ]
    assert "Noted, no nuts." in told and not [text for text in told if "not found" in text]
