"""No door takes a secret: fields of an edit, reasons, tags, ids and names of metadata."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from mcp import Client

from engrams.core import Kind, Scope, Status, Turn
from engrams.engine import MemoryEngine
from engrams.errors import RefusedError, SettingsError
from engrams.program.registry import create_mcp_server, create_mounts
from engrams.surfaces.http.app import create_app
from engrams.testing import ScriptedModel, temp_engine

_KEY = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
_SCOPE = ("user", "ann")


@pytest.fixture(scope="module")
def memory() -> Iterator[MemoryEngine]:
    with temp_engine() as engine:
        yield engine


def _show(memory: MemoryEngine, id: str) -> str:
    return repr(memory.get(id, scope=_SCOPE)) + repr(memory.history(id, scope=_SCOPE))


def test_names_of_imported_files_store_no_secret(memory: MemoryEngine, tmp_path: Path) -> None:
    """The list of imports has no secret of a file's name, and an import of it goes on as before."""
    file = tmp_path / f"{_KEY}.md"
    file.write_text("# Trees\nThe oak is tall.", "utf-8")
    assert memory.load(file, scope=_SCOPE).stored
    (run,) = memory.imports.list(_SCOPE)
    assert run.name == "[redacted:github-token].md"
    assert not memory.imports.is_interrupted(Scope(_SCOPE), file.name)


@pytest.mark.parametrize(
    "fields",
    [
        {"tags": ["x", _KEY]},
        {"triggers": [_KEY]},
        {"object": _KEY},
        {"subject": f"user {_KEY}"},
        {"meta": {_KEY: "v"}},
        {"meta": {"deep": [{"k": _KEY}]}},
        {"caption": _KEY},
    ],
)
def test_an_edit_stores_no_secret(memory: MemoryEngine, fields: dict[str, Any]) -> None:
    """Every field of an edit is redacted, and so is its reason."""
    id = memory.add(f"A note about trees, number {len(repr(fields))}.", scope=_SCOPE).id
    memory.edit(id, scope=_SCOPE, fields=fields, reason=f"because {_KEY}")
    shown = _show(memory, id)
    assert _KEY not in shown
    assert "[redacted:github-token]" in shown


def test_reasons_and_tags_store_no_secret(memory: MemoryEngine) -> None:
    """A reason to forget and a tag are redacted."""
    id = memory.add("A note about rivers.", scope=_SCOPE).id
    memory.links.tag(id, ["water", _KEY], scope=_SCOPE)
    memory.forget(id, scope=_SCOPE, reason=f"because {_KEY}")
    assert _KEY not in _show(memory, id)


def test_ids_and_names_store_no_secret(memory: MemoryEngine) -> None:
    """A key as a session, an id, a speaker or a name of metadata is not stored; ids stay equal."""
    turns = [
        Turn(f"Hello number {number}", session=_KEY, external_id=f"{_KEY}", meta={_KEY: "v"})
        for number in range(2)
    ]
    records = [memory.get(memory.add(turn, scope=_SCOPE).id, scope=_SCOPE) for turn in turns]
    assert _KEY not in repr(records)
    assert records[0].session == records[1].session
    assert records[0].session.startswith("redacted-")


_CARD = "4539 1488 0343 6467"


@contextlib.contextmanager
def _serve(*treatments: str) -> Iterator[tuple[TestClient, MemoryEngine]]:
    with (
        ScriptedModel() as model,
        temp_engine(
            user="ann",
            write__secrets_of=treatments,
            serve__upstream=f"{model.url}/v1",
            serve__upstream_learns=False,
        ) as engine,
    ):
        app = create_app(engine, engine.settings, create_mounts(engine, engine.settings))
        with TestClient(app, base_url="http://127.0.0.1") as client:
            model.when("", "Noted.")
            yield client, engine


def _list_texts(engine: MemoryEngine) -> str:
    page = engine.list(scope=_SCOPE, statuses=tuple(Status), kinds=tuple(Kind), limit=200)
    return repr(page.records)


@pytest.fixture(scope="module")
def refusing() -> Iterator[tuple[TestClient, MemoryEngine]]:
    with _serve("password=refuse", "card=refuse", "pin=allow") as served:
        yield served


@pytest.mark.parametrize(
    "body",
    [
        {"text": "The password is otter-77-lake."},
        {"text": "Pay the hotel.", "tags": ["password=otter-77-lake"]},
        {"text": "Pay the hotel.", "triggers": [f"card {_CARD}"]},
        {"text": "Pay the hotel.", "meta": {"card": _CARD}},
        {"messages": [{"role": "user", "content": f"My card is {_CARD}."}]},
    ],
)
def test_a_refused_kind_is_refused_over_rest(
    refusing: tuple[TestClient, MemoryEngine], body: dict[str, Any]
) -> None:
    """A text or a label of a refused kind is answered with 422 and a way out; nothing is stored."""
    client, engine = refusing
    answer = client.post("/v1/memories", json=body)
    assert answer.status_code == 422
    assert "secrets_of" in answer.text
    assert "otter-77" not in answer.text + _list_texts(engine)
    assert _CARD not in answer.text + _list_texts(engine)
    assert "hotel" not in _list_texts(engine)


def test_a_refused_message_goes_to_the_model_and_is_not_stored(
    refusing: tuple[TestClient, MemoryEngine],
) -> None:
    """The proxy passes the message on and says in a header that it is not stored, and why."""
    client, engine = refusing
    body = {"model": "m", "messages": [{"role": "user", "content": f"Book it with {_CARD}."}]}
    answer = client.post("/v1/chat/completions", json=body)
    assert answer.status_code == 200
    assert "card" in answer.headers["x-engrams-unsaved"]
    assert engine.drain(30)
    assert "Book it" not in _list_texts(engine)
    assert client.get("/health").json()["memory"]["refused"] == 1


async def test_an_agents_tool_is_told_of_a_refused_kind(
    refusing: tuple[TestClient, MemoryEngine],
) -> None:
    """Over MCP a refused kind is an error that says what to do."""
    _, engine = refusing
    async with Client(create_mcp_server(engine, Scope.of(_SCOPE), "engrams")) as tools:
        done = await tools.call_tool("memory_add", {"text": "The password is otter-77-lake."})
    assert done.is_error
    assert "secrets_of" in done.content[0].text
    assert "otter-77" not in done.content[0].text


def test_each_kind_has_its_treatment(refusing: tuple[TestClient, MemoryEngine]) -> None:
    """An allowed kind is stored, one of no own treatment is redacted, an edit is refused."""
    _, engine = refusing
    pin = engine.add("My phone PIN: 4711 and the key is " + _KEY, scope=_SCOPE)
    text = engine.get(pin.id, scope=_SCOPE).text
    assert "4711" in text
    assert "[redacted:github-token]" in text
    for fields in ({"text": f"Card {_CARD}"}, {"tags": [_CARD]}, {"meta": {"a": _CARD}}):
        with pytest.raises(RefusedError):
            engine.edit(pin.id, scope=_SCOPE, fields=fields)
    with pytest.raises(RefusedError):
        engine.links.tag(pin.id, [_CARD], scope=_SCOPE)


def test_an_unknown_kind_is_told() -> None:
    """A kind or a treatment that does not exist is an error that lists those that do."""
    for pair in ("cards=redact", "card=hide"):
        with (
            pytest.raises(SettingsError, match=r"iban|refuse"),
            temp_engine(write__secrets_of=(pair,)),
        ):
            pass
