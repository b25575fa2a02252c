"""Hostile strings:
every door that takes a text takes time that grows with its length, and no more.
"""

from __future__ import annotations

import asyncio
import csv
import io
import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp import Client
from tests.faults.hostile import FAMILIES, make
from tests.surfaces.http.running import running

import engrams
from engrams import MemoryEngine
from engrams.core import Turn
from engrams.errors import EngramsError, InputError
from engrams.ports import Condition, Where
from engrams.program.registry import create_app, create_mcp_server
from engrams.testing import ScriptedModel
from engrams.vault.files.memory_file_commands import MemoryFileCommandTool

OWNER = ("user", "ada")
SMALL = 10_000
LARGE = 100_000
GROWTH = 30.0
FLOOR = 1.5
"""Ten times the text may take thirty times as long, or 1.5 s of processor time."""


@dataclass
class House:
    """A memory with its files, and a server before it."""

    memory: MemoryEngine
    folder: Path
    client: httpx2.Client
    count: int = 0

    def path(self, ending: str, text: str) -> Path:
        self.count += 1
        path = self.folder / f"{self.count}{ending}"
        path.write_text(text, encoding="utf-8", newline="")
        return path


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    home = tmp_path_factory.mktemp("linear") / "home"
    options = {
        "vault__enabled": True,
        "vault__git": False,
        "vault__watch": "off",
        "jobs__workers": 0,
    }
    with (
        ScriptedModel() as model,
        engrams.open(
            home=home,
            user="ada",
            serve__upstream=f"{model.url}/v1",
            serve__upstream_learns=False,
            **options,
        ) as memory,
        running(create_app(memory, memory.settings)) as url,
        httpx2.Client(base_url=url, timeout=60) as client,
    ):
        memory.add("Ada lives in Oslo and works at the harbour.", scope=OWNER)
        memory.search("where", scope=OWNER)
        assert memory.vault is not None
        memory.vault.sync()
        folder = home.parent / "files"
        folder.mkdir()
        yield House(memory, folder, client)


def observe(house: House, text: str) -> None:
    name = f"s{house.count}"
    house.memory.sessions.begin(name, scope=OWNER)
    house.memory.observe(
        [Turn(text, role=role, session=name) for role in ("user", "assistant", "tool")], scope=OWNER
    )  # type: ignore[arg-type]
    house.memory.sessions.end(name, scope=OWNER)


def edit(house: House, text: str) -> None:
    house.memory.edit(
        house.memory.add(f"To be edited {house.count}", scope=OWNER).id, scope=OWNER, text=text
    )


def load_chat(house: House, text: str) -> None:
    messages = [{"role": "user", "content": text}, {"role": "assistant", "content": text[::-1]}]
    house.memory.load(house.path(".json", json.dumps(messages)), scope=OWNER)


def load_table(house: House, text: str) -> None:
    out = io.StringIO()
    csv.writer(out).writerows([["text"], [text]])
    house.memory.load(house.path(".csv", out.getvalue()), scope=OWNER)


def pull(house: House, text: str) -> None:
    vault = house.memory.settings.home / "vault"
    owned = next(path.parent for path in vault.rglob("*.md") if "ada" in str(path))
    house.count += 1
    (owned / f"body{house.count}.md").write_text(text, encoding="utf-8", newline="")
    (owned / f"front{house.count}.md").write_text(
        f"---\nkind: note\ntags: [a]\n{text}\n---\nbody\n", encoding="utf-8", newline=""
    )
    assert house.memory.vault is not None
    house.memory.vault.sync(accept=True)


def use_memory_tool(house: House, text: str) -> None:
    tool = MemoryFileCommandTool(house.folder)
    house.count += 1
    name = f"/memories/{house.count}.txt"
    tool.create(name, text)
    tool.view(name)
    tool.insert(name, 0, text)
    tool.str_replace(name, text[:3000] + "not there", "y")


def chat(house: House, text: str) -> None:
    messages = [{"role": "system", "content": text}, {"role": "user", "content": text}]
    house.client.post("/v1/chat/completions", json={"model": "scripted", "messages": messages})


def call_tools(house: House, text: str) -> None:
    async def call() -> None:
        async with Client(
            create_mcp_server(house.memory, engrams.Scope(OWNER), "engrams")
        ) as client:
            await client.call_tool("memory_add", {"text": text})
            await client.call_tool("memory_search", {"query": text})

    asyncio.run(call())


def forget(house: House, text: str) -> None:
    receipt = house.memory.add(text, scope=OWNER)
    house.memory.preview([receipt.id], "forget", engrams.Scope(OWNER))
    house.memory.forget(receipt.id, scope=OWNER)


DOORS: dict[str, Callable[[House, str], object]] = {
    "add": lambda house, text: house.memory.add(text, scope=OWNER),
    "observe": observe,
    "search": lambda house, text: house.memory.search(text, scope=OWNER),
    "where": lambda house, text: house.memory.search(
        "where", scope=OWNER, where=Where("and", (Condition("speaker", "eq", text),))
    ),
    "context": lambda house, text: house.memory.context(text, scope=OWNER),
    "deliver": lambda house, text: house.memory.deliver(text, scope=OWNER, session="s"),
    "edit": edit,
    "forget": forget,
    "load-text": lambda house, text: house.memory.load(house.path(".txt", text), scope=OWNER),
    "load-markdown": lambda house, text: house.memory.load(house.path(".md", text), scope=OWNER),
    "load-chat": load_chat,
    "load-table": load_table,
    "vault": pull,
    "memory-tool": use_memory_tool,
    "proxy": chat,
    "rest-add": lambda house, text: house.client.post("/v1/memories", json={"text": text}),
    "rest-search": lambda house, text: house.client.post("/v1/search", json={"query": text}),
    "mcp": call_tools,
}
QUICK = ("zero-width", "marks", "newlines", "now", "reminder")
"""Families that were slow once."""


def seconds(house: House, door: str, text: str) -> float:
    """Processor time of one call; an error that says why is an answer too."""
    house.count += 1
    begun = time.process_time()
    with suppress(EngramsError):
        DOORS[door](house, f"{house.count} {text}")
    return time.process_time() - begun


def check(house: House, door: str, make_text: Callable[[int], str]) -> str:
    """Describe growth beyond the bound; empty: there is none."""
    last = seconds(house, door, make_text(LARGE))
    if last < FLOOR:
        return ""
    last = min(last, seconds(house, door, make_text(LARGE)))
    first = min(seconds(house, door, make_text(SMALL)) for _ in range(2))
    return (
        f"{door}: {first:.2f} s for {SMALL}, {last:.2f} s for {LARGE}"
        if last > max(FLOOR, GROWTH * first)
        else ""
    )


@pytest.mark.parametrize("door", ["add", "search", "load-markdown"])
def test_once_slow_texts(house: House, door: str) -> None:
    """Texts that were slow once take linear time."""
    assert [
        slow
        for name in QUICK
        if (slow := check(house, door, lambda size, name=name: make(name, size)))
    ] == []  # type: ignore[misc]


@pytest.mark.slow
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", FAMILIES)
def test_doors(house: House, door: str, name: str) -> None:
    """Each door takes linear time for each family of hostile texts."""
    assert check(house, door, lambda size: make(name, size)) == ""


PIECES = st.lists(
    st.sampled_from(
        sorted(
            {piece for pair in FAMILIES.values() for piece in pair}
            | set(" \t\n.,;:!?\"'()-/@#<>|*_`0aA我é\u200b")
        )
    ),
    min_size=1,
    max_size=4,
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(head=PIECES, body=PIECES)
def test_composed_texts(house: House, head: list[str], body: list[str]) -> None:
    """Texts composed of the families' pieces take linear time to add and to search."""
    one = "".join(body) or " "
    for door in ("add", "search"):
        assert check(house, door, lambda size: "".join(head) + one * (size // len(one)) + "x") == ""


def test_a_long_query_is_cut_with_a_note(house: House) -> None:
    """Of a query of megabytes head and tail are used, which the trace notes."""
    found = house.memory.search("padding " * 200_000 + "where does Ada live?", scope=OWNER)
    assert found.hits
    assert any("characters" in note for note in found.trace.notes)


@pytest.mark.slow
def test_ten_megabytes_in_one_line(house: House) -> None:
    """Ten megabytes are refused with what to do, or cut with a note, and at no door take seconds of
    processor time.
    """
    text = ("word and harbour " * 700_000)[:10_000_000]
    id = house.memory.add("The boat is red.", scope=OWNER).id
    writers = (
        lambda: house.memory.add(text, scope=OWNER),
        lambda: house.memory.observe([Turn(text)], scope=OWNER),
        lambda: house.memory.edit(id, scope=OWNER, text=text),
    )
    begun = time.process_time()
    for write in writers:
        with pytest.raises(InputError, match="the limit is 1,000,000") as refusal:
            write()
        assert "limits.text_bytes" in refusal.value.hint
    assert house.client.post("/v1/memories", json={"text": text}).status_code == 400
    assert any("characters" in note for note in house.memory.search(text, scope=OWNER).trace.notes)
    assert house.client.post("/v1/search", json={"query": text}).status_code == 200
    house.memory.context(text, scope=OWNER)
    house.memory.deliver(text, scope=OWNER, session="long")
    assert time.process_time() - begun < 12
    report = house.memory.load(house.path(".txt", text), scope=OWNER, skip_bad=True)
    assert (report.stored, "limit is 1,000,000" in str(report.bad)) == (0, True)
