"""A folder of a mail server: new messages are read, removed ones go, and nothing on the server changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from bench.documents import making
from tests.transfer.documents.mail_server import Mailbox, serve_mailbox

from engrams.engine import MemoryEngine
from engrams.errors import InputError
from engrams.testing import temp_engine
from engrams.transfer.documents.mail_folders import MailFolderAddress

ANN = ("user", "ann")
WORD = "a word"


@pytest.fixture
def box() -> Iterator[Mailbox]:
    with serve_mailbox() as box:
        yield box


@pytest.fixture
def engine() -> Iterator[MemoryEngine]:
    with temp_engine() as engine:
        yield engine


def make_mail(subject: str, text: str) -> bytes:
    mail = making.make_mail(
        "Per <per@ror.example>",
        "ann@ror.example",
        subject,
        "Tue, 03 Mar 2026 09:15:00 +0100",
        [text],
    )
    return mail.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def list_names(engine: MemoryEngine) -> set[str]:
    return {document.name for document in engine.documents.list(ANN)}


def test_memory_follows_the_messages_of_a_folder(engine: MemoryEngine, box: Mailbox) -> None:
    """New ones are read once, removed ones end, forgotten ones stay so; a run has one undo."""
    box.messages |= {
        4: make_mail("The boat", "The boat is white."),
        5: make_mail("=?utf-8?q?Der_K=C3=A4se?=", "The cheese is in the cellar."),
    }
    watched = engine.documents.watch_mail(box.url, WORD, ANN)
    assert watched.update().files == 2
    assert list_names(engine) == {"The boat.eml", "Der Käse.eml"}
    (hit, *_) = engine.search("where is the cheese?", scope=ANN).hits
    assert "cellar" in hit.record.text
    assert watched.update().id == ""
    engine.documents.forget("Der Käse.eml", ANN)
    del box.messages[4]
    box.messages[9] = make_mail("The hive", "The hive is of cork.")
    counts = watched.update()
    assert (counts.files, counts.removed > 0) == (1, True)
    assert list_names(engine) == {"The hive.eml"}
    engine.imports.undo(counts.id, ANN)
    assert list_names(engine) == {"The boat.eml"}


def test_the_server_stays_as_it_is(engine: MemoryEngine, box: Mailbox) -> None:
    """The folder is opened to be read alone, and no message is marked as read."""
    box.messages[4] = make_mail("The boat", "The boat is white.")
    engine.documents.watch_mail(box.url, WORD, ANN).update()
    words = {command.split()[0] for command in box.commands}
    assert words <= {"CAPABILITY", "LOGIN", "EXAMINE", "FETCH", "UID", "LOGOUT"}
    assert not any("BODY[" in command or "STORE" in command for command in box.commands)


def test_a_broken_connection_is_made_up_for(engine: MemoryEngine, box: Mailbox) -> None:
    """What came is stored, the rest is named, and the next run brings it."""
    box.messages |= {n: make_mail(f"Number {n}", f"Box {n} is red.") for n in range(1, 5)}
    box.breaks_after = 2
    counts = engine.documents.watch_mail(box.url, WORD, ANN).update()
    assert len(counts.bad) == 4 - len(list_names(engine)) > 0
    assert all("connection" in message for _, message in counts.bad)
    box.breaks_after = 0
    engine.documents.watch_mail(box.url, WORD, ANN).update()
    assert list_names(engine) == {f"Number {n}.eml" for n in range(1, 5)}


def test_messages_that_are_numbered_anew_are_stored_once(
    engine: MemoryEngine, box: Mailbox
) -> None:
    """A server that was moved gives its messages other numbers."""
    box.messages[4] = make_mail("The boat", "The boat is white.")
    watched = engine.documents.watch_mail(box.url, WORD, ANN)
    watched.update()
    box.validity = 8
    watched.update()
    assert list_names(engine) == {"The boat.eml"}
    assert len(engine.documents.list(ANN)) == 1


def test_an_empty_folder_takes_no_message_along(engine: MemoryEngine, box: Mailbox) -> None:
    """Unless it is said that it may."""
    box.messages[4] = make_mail("The boat", "The boat is white.")
    watched = engine.documents.watch_mail(box.url, WORD, ANN)
    watched.update()
    box.messages.clear()
    with pytest.raises(InputError, match="is empty"):
        watched.update()
    assert list_names(engine) == {"The boat.eml"}
    watched.update(accept_empty=True)
    assert list_names(engine) == set()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"password": "wrong"}, "refuses"),
        ({"folder": "Other"}, "no folder"),
        ({"port": "1"}, "does not answer"),
    ],
)
def test_a_server_that_refuses_says_why(
    engine: MemoryEngine, box: Mailbox, change: dict[str, Any], problem: str
) -> None:
    """The password, the folder or the server may be wrong."""
    url = box.url.replace("INBOX", change.get("folder", "INBOX"))
    if "port" in change:
        url = url.replace(str(box.port), change["port"])
    with pytest.raises(InputError, match=problem):
        engine.documents.watch_mail(url, change.get("password", WORD), ANN).update()


@pytest.mark.parametrize(
    "address", ["imaps://mail.example/INBOX", "imaps://ann:word@mail.example/", "https://a@b/c"]
)
def test_what_is_no_folder_is_refused(address: str) -> None:
    """An address names a user, and no password."""
    with pytest.raises(InputError, match=r"no folder of a mail server|has a password"):
        MailFolderAddress.parse(address)
