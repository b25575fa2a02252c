"""The profile for documents: listed and read by page, and added only where the person allows it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from bench.documents import making
from mcp import Client, StdioServerParameters
from mcp_types import ResourceTemplateReference
from tests.surfaces.mcp.conftest import Open, call, refused

from engrams.core import Kind, Scope, Turn
from engrams.engine import MemoryEngine
from engrams.engine.answer_types import GivenDocument
from engrams.program.registry import create_mcp_server
from engrams.testing import temp_engine

LEASE = making.make_pdf([["The tenant is Anna."], ["One cat is allowed here."]])


async def test_documents_are_listed_and_read(
    client: Open, engine: MemoryEngine, root: Scope, era: str
) -> None:
    """A document is read in order with its pages; nobody else's is, and none is added by an agent."""
    engine.documents.add_given(GivenDocument.from_upload("lease.pdf", LEASE), root)
    other = Scope(("user", "other"))
    engine.documents.add_given(GivenDocument.from_upload("diary.txt", b"My own words."), other)
    async with client("documents", mode=era) as memory:
        listed = await call(memory, "list_documents")
        assert [item["name"] for item in listed["documents"]] == ["lease.pdf"]
        read = await call(memory, "read_document", document="lease.pdf")
        assert [(item["label"], item["text"]) for item in read["passages"]] == [
            ("lease.pdf, p. 1", "The tenant is Anna."),
            ("lease.pdf, p. 2", "One cat is allowed here."),
        ]
        (rest,) = (await call(memory, "read_document", document="lease.pdf", skip=1))["passages"]
        assert rest["label"] == "lease.pdf, p. 2"
        assert "no document" in await refused(memory, "read_document", document="diary.txt")
        assert "add_document" not in [tool.name for tool in (await memory.list_tools()).tools]
        await refused(memory, "add_document", name="a.md", text="Words.")
    async with client("engrams", mode=era) as memory:
        (row,) = json.loads((await memory.read_resource("memory://documents")).contents[0].text)
        assert (row["name"], row["passages"]) == ("lease.pdf", 2)
        for name in ("lease.pdf", row["id"]):
            answer = await memory.read_resource(f"memory://document/{name}")
            places = [item["label"] for item in json.loads(answer.contents[0].text)]
            assert places == ["lease.pdf, p. 1", "lease.pdf, p. 2"]
        template = ResourceTemplateReference(uri="memory://document/{document}")
        completed = await memory.complete(template, {"name": "document", "value": "le"})
        assert list(completed.completion.values) == ["lease.pdf"]


async def test_an_agent_adds_a_document_where_the_person_allows_it() -> None:
    """Its text is a document's: nothing is learned, no file is read, and the same name replaces it."""
    root = Scope(("user", "ann"))
    with temp_engine(documents__from_agents=True) as engine:
        engine.add(Turn("I live in Malmö.", role="user"), scope=root)
        async with Client(create_mcp_server(engine, root, "documents")) as memory:
            added = await call(memory, "add_document", name="notes.md", text="I live in Oslo.")
            assert (added["passages"], added["is_new"]) == (1, True)
            again = await call(memory, "add_document", name="notes.md", text="I live in Oslo.")
            assert not again.get("is_new", False)
            await call(memory, "add_document", name="notes.md", text="I live in Rome.")
            await call(memory, "add_document", name="/etc/hostname", text="A name alone.")
            assert "the rule" in await refused(memory, "add_document", name=".env", text="KEY=1")
        engine.drain()
        facts = engine.list(scope=root, kinds=(Kind.FACT, Kind.RULE, Kind.PREFERENCE)).records
        assert all("Oslo" not in fact.text and "Rome" not in fact.text for fact in facts)
        (passage,) = engine.documents.read("notes.md", root)
        assert passage.text == "I live in Rome."
        outcomes = {item.name: item.outcome for item in engine.documents.refresh(root)}
        assert outcomes == {"notes.md": "missing", "/etc/hostname": "missing"}


async def test_a_process_serves_documents(tmp_path: Path) -> None:
    """`engrams mcp --profile documents` adds and reads over standard input and output."""
    words = ["-m", "engrams.program.entry", "mcp", "--home", str(tmp_path), "--user", "ann"]
    setting = ["--set", "documents.from_agents=true", "--profile", "documents"]
    server = StdioServerParameters(command=sys.executable, args=[*words, *setting])
    async with Client(server) as memory:
        await call(memory, "add_document", name="bees.md", text="# Bees\n\nThe hive is of cork.")
        (passage,) = (await call(memory, "read_document", document="bees.md"))["passages"]
        assert (passage["label"], passage["text"]) == ("bees.md, Bees", "The hive is of cork.")
