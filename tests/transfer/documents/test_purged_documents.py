"""A purged document is nowhere: every byte of a home with files, git, backup, copies and index."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from bench.documents import making
from tests.flows.test_purge_everywhere import copies, open_home
from tests.flows.traces import holders, secret
from tests.store import postgres

import engrams
from engrams import MemoryEngine, admin
from engrams.core import Scope
from engrams.core.document_location import read_location
from engrams.transfer.documents.stored_documents import GivenDocument

ANN = Scope(("user", "ann"))


def make_lease(number: int) -> bytes:
    """A lease whose title, heading, text and table have words of their own."""
    return making.make_docx(
        [
            (1, f"Pets {secret(number)}"),
            f"The tenant may keep one {secret(number + 1)}.",
            [["Item", "Amount"], [f"Roof {secret(number + 2)}", "900"]],
        ],
        f"Lease {secret(number + 3)}",
    )


@pytest.mark.parametrize("way", ["changed", "forgotten", "gone", "undone"])
def test_a_purged_document_leaves_no_byte(home: Path, tmp_path: Path, way: str) -> None:
    """Both versions go, with name, title and headings, whatever became of the document before."""
    folder = tmp_path / "papers"
    folder.mkdir()
    path = folder / f"{secret(9)}.docx"
    words = [secret(number) for number in range(10)]
    kept = folder / "kept.md"
    kept.write_text("The hive is of cork.")
    with open_home(home) as engine:
        watched = engine.documents.watch(folder, ANN)
        path.write_bytes(make_lease(0))
        watched.update()
        path.write_bytes(make_lease(4))
        latest = watched.update()
        engine.drain()
        admin.get_vault(engine).commit()
        engine.search(f"who keeps a {secret(1)}?", scope=ANN)
        engine.context(f"who keeps a {secret(5)}?", scope=ANN)
        admin.backup(engine, home / "mine.backup")
        copies(home)
        stored = {word for held in holders(home, words).values() for word in held}
        assert stored == {secret(number) for number in (*range(8), 9)}
        if way == "forgotten":
            engine.documents.forget(path.name, ANN)
        elif way == "gone":
            path.unlink()
            watched.update()
        elif way == "undone":
            engine.imports.undo(latest.id, ANN, git=True)
            assert not {secret(number) for number in range(4, 8)} & {
                word for held in holders(home, words).values() for word in held
            }
        assert engine.documents.purge(path.name, ANN, git=True).proven
        left = [
            location.name
            for record in engine.list(scope=ANN, kinds=("passage",)).records
            if (location := read_location(record))
        ]
        assert left == ["kept.md"]
    assert holders(home, words) == {}


def make_sent(number: int) -> bytes:
    """A mail with words of its own in its subject, its text, and the name and text of its file."""
    message = EmailMessage()
    message["From"] = "Per <per@ror.example>"
    message["To"] = "Ann <ann@x.example>"
    message["Date"] = "Tue, 03 Mar 2026 09:15:00 +0100"
    message["Subject"] = f"Papers of {secret(number)}"
    message.set_content(f"The {secret(number + 1)} is attached.")
    message.add_attachment(
        making.make_docx([f"The roof is of {secret(number + 2)}."]),
        maintype="application",
        subtype="octet-stream",
        filename=f"{secret(number + 3)}.docx",
    )
    return message.as_bytes()


@contextmanager
def open_site(pages: Mapping[str, bytes]) -> Iterator[str]:
    """Serve pages on this machine, by their paths; yields the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(pages[self.path])

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def add_by_all_doors(engine: MemoryEngine, folder: Path, site: str) -> list[str]:
    """Add a mail by its path, a page by its address, a document of a zip and an uploaded one.

    Returns their names.
    """
    mail = folder / f"{secret(10)}.eml"
    mail.write_bytes(make_sent(11))
    engine.add_document(mail, scope=ANN)
    address = f"{site}/{secret(20)}?of={secret(21)}"
    engine.add_document(address, scope=ANN)
    archive = folder / f"{secret(30)}.zip"
    archive.write_bytes(making.make_zip({f"{secret(31)}.md": f"The hive is of {secret(32)}."}))
    engine.add_document(archive, scope=ANN)
    upload = GivenDocument.from_upload(f"/home/{secret(40)}.md", f"# {secret(41)}\n\nOf.".encode())
    engine.documents.add_given(upload, ANN)
    return [mail.name, address, f"{secret(31)}.md", upload.name]


@pytest.mark.slow
@pytest.mark.parametrize("way", ["purged", "undone"])
def test_a_document_of_any_door_leaves_no_byte(home: Path, tmp_path: Path, way: str) -> None:
    """Its name, address, subject and attachments go too, with the name that its import had."""
    words = [secret(number) for number in range(50)]
    pages = {
        f"/{secret(20)}?of={secret(21)}": making.make_html(
            [(1, secret(22)), f"The boat is {secret(23)}."], secret(24)
        )
    }
    with (
        open_site(pages) as site,
        open_home(home, serve__allow_private_webhooks=True) as engine,
    ):
        names = add_by_all_doors(engine, tmp_path, site)
        engine.add("The kept hive is of cork.", scope=ANN)
        engine.drain()
        admin.get_vault(engine).commit()
        engine.search(f"what is of {secret(13)}?", scope=ANN)
        engine.context(f"the roof of {secret(13)}", scope=ANN)
        admin.backup(engine, home / "mine.backup")
        stored = {word for held in holders(home, words).values() for word in held}
        assert stored == {
            secret(number) for number in (*range(10, 15), *range(20, 25), 30, 31, 32, 40, 41)
        }
        if way == "undone":
            for run in engine.imports.list(ANN):
                engine.imports.undo(run.id, ANN, git=True)
        else:
            assert {document.name for document in engine.documents.list(ANN)} == set(names)
            assert all(engine.documents.purge(name, ANN, git=True).proven for name in names)
        assert engine.documents.list(ANN) == ()
        assert [record.text for record in engine.list(scope=ANN).records] == [
            "The kept hive is of cork."
        ]
    assert holders(home, words) == {}


def find_words_in_rows(url: str, words: Sequence[str]) -> set[str]:
    """Find words in the rows of all tables, in texts and in bytes."""
    import psycopg
    from psycopg import sql

    with psycopg.connect(url) as connection:
        tables = connection.execute(
            "select schemaname, tablename from pg_tables"
            " where schemaname not in ('pg_catalog', 'information_schema')"
        ).fetchall()
        rows = "\n".join(
            str(row)
            for schema, table in tables
            for (row,) in connection.execute(
                sql.SQL("select t::text from {} t").format(sql.Identifier(schema, table))
            )
        ).lower()
    return {word for word in words if word in rows or word.encode().hex() in rows}


@pytest.mark.postgres
@pytest.mark.skipif(not postgres.INSTALLED, reason=postgres.MISSING)
@pytest.mark.parametrize("way", ["changed", "forgotten", "undone"])
def test_a_purged_document_is_in_no_row_of_postgres(home: Path, tmp_path: Path, way: str) -> None:
    """Both versions go, with name, title and headings; another document stays."""
    url = postgres.empty_database()
    folder = tmp_path / "papers"
    folder.mkdir()
    path = folder / f"{secret(9)}.docx"
    (folder / "kept.md").write_text("The hive is of cork.")
    words = [secret(number) for number in range(10)]
    with engrams.open(home=home, store__url=url, jobs__workers=0) as engine:
        for number in (0, 4):
            path.write_bytes(make_lease(number))
            latest = engine.add_document(path if number else folder, scope=ANN)
        engine.search(f"who keeps a {secret(5)}?", scope=ANN)
        assert find_words_in_rows(url, words) == {secret(number) for number in (*range(8), 9)}
        if way == "forgotten":
            engine.documents.forget(path.name, ANN)
        elif way == "undone":
            engine.imports.undo(latest.id, ANN)
            later_words = {secret(number) for number in range(4, 8)}
            assert not later_words & find_words_in_rows(url, words)
        assert engine.documents.purge(path.name, ANN).proven
        assert [document.name for document in engine.documents.list(ANN)] == ["kept.md"]
    assert find_words_in_rows(url, words) == set()
    assert holders(home, words) == {}
