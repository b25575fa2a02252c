"""Files in the messages of a chat program: kept as documents where the settings say so."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from bench.documents import making
from tests.surfaces.http.running import running
from tests.surfaces.proxy.harness import Harness, completion, eventually, patient
from tests.surfaces.proxy.raw import raw_upstream, reply
from tests.transfer.documents import media_files

from engrams.core import Kind, Record
from engrams.testing import temp_engine

LEASE = making.make_pdf(
    [["The rent is 900."], ["The tenant may keep one cat. Dogs need consent."]], "Lease"
)
ENCODED = base64.b64encode(LEASE).decode()
DATA_URL = f"data:application/pdf;base64,{ENCODED}"
PICTURE = {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}}
PHOTO = base64.b64encode(media_files.make_picture()).decode()
SOUND = base64.b64encode(media_files.make_wav(1)).decode()


@pytest.fixture(scope="module")
def keeping() -> Iterator[Harness]:
    """A proxy that keeps files."""
    with (
        raw_upstream() as raw,
        temp_engine(
            user="nobody",
            serve__upstream=raw.url + "/v1",
            serve__upstream_learns=False,
            serve__keep_files=True,
        ) as engine,
        running(patient(engine)) as url,
        httpx2.Client(base_url=url, timeout=30) as client,
    ):
        raw.says(reply(completion()))
        yield Harness(url, engine, raw, client)


def labels(bench: Harness) -> set[str]:
    scope = ("user", bench.user)
    return {
        f"{document.name}, {len(bench.engine.documents.read(document.id, scope))}"
        for document in bench.engine.documents.list(scope)
    }


def openai_part(**fields: Any) -> dict[str, Any]:
    return {"type": "file", "file": fields}


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("/v1/chat/completions", openai_part(filename="lease.pdf", file_data=DATA_URL)),
        ("/v1/responses", {"type": "input_file", "filename": "lease.pdf", "file_data": DATA_URL}),
        (
            "/v1/messages",
            {
                "type": "document",
                "title": "lease.pdf",
                "source": {"type": "base64", "media_type": "application/pdf", "data": ENCODED},
            },
        ),
    ],
)
def test_a_file_of_each_protocol_becomes_a_document(
    keeping: Harness, path: str, part: dict[str, Any]
) -> None:
    """It is found by its page, its bytes reach the model, and a request sent again brings it once."""
    keeping.user = f"ann{path.rpartition('/')[2]}"
    text = {
        "type": "input_text" if path == "/v1/responses" else "text",
        "text": "May I have a dog?",
    }
    messages = [{"role": "user", "content": [text, part, PICTURE]}]
    name = "input" if path == "/v1/responses" else "messages"
    for _ in range(2):
        answer = keeping.client.post(
            path,
            content=json.dumps({"model": "m", "max_tokens": 99, name: messages}),
            headers=keeping.headers({"anthropic-version": "2023-06-01"}),
        )
        assert answer.headers["x-engrams-files"] == "kept:1,not_read:1"
        assert part in keeping.sent()[name][-1]["content"]
    eventually(lambda: labels(keeping) == {"lease.pdf, 2"})
    found = keeping.client.get("/v1/imports", headers=keeping.headers()).json()["imports"]
    assert len(found) == 1


def test_files_without_a_name_do_not_replace_each_other(keeping: Harness) -> None:
    """Each gets a name from its contents; what is no base64 is told."""
    keeping.user = "ben"
    other = base64.b64encode(making.make_pdf([["The hive is of cork."]])).decode()
    text = {"type": "text", "text": "Read these."}
    parts = [openai_part(file_data=data) for data in (ENCODED, other, "no base64!")]
    answer = keeping.ask([{"role": "user", "content": [text, *parts]}])
    assert answer.headers["x-engrams-files"] == "kept:2,not_read:1"
    eventually(lambda: len(labels(keeping)) == 2)


def test_a_file_of_a_message_that_is_not_saved_is_not_kept(keeping: Harness) -> None:
    """Words and options that ask for privacy hold for the file, too."""
    keeping.user = "cleo"
    part = openai_part(filename="lease.pdf", file_data=DATA_URL)
    said = [{"type": "text", "text": "Don't save this: what is the rent?"}, part]
    answer = keeping.ask([{"role": "user", "content": said}])
    assert answer.headers["x-engrams-files"] == "message_not_stored:1"
    asked = [{"type": "text", "text": "What is the rent?"}, part]
    answer = keeping.ask([{"role": "user", "content": asked}], memory={"off": True})
    assert "x-engrams-files" not in answer.headers
    assert not keeping.client.get("/v1/imports", headers=keeping.headers()).json()["imports"]


def test_files_are_left_alone_unless_the_settings_say_otherwise(bench: Harness) -> None:
    """The header says so."""
    part = openai_part(filename="lease.pdf", file_data=DATA_URL)
    text = {"type": "text", "text": "What is the rent?"}
    answer = bench.ask([{"role": "user", "content": [text, part]}])
    assert answer.headers["x-engrams-files"] == "off:1"
    assert bench.ask("What is the rent?").headers.get("x-engrams-files") is None


@pytest.mark.parametrize(
    "part",
    [
        {"type": "input_audio", "input_audio": {"data": SOUND, "format": "wav"}},
        {"type": "image_url", "image_url": {"url": f"data:audio/wav;base64,{SOUND}"}},
        {"type": "image", "source": {"type": "base64", "media_type": "audio/wav", "data": SOUND}},
    ],
)
def test_a_sound_or_picture_of_a_message_is_kept(keeping: Harness, part: dict[str, Any]) -> None:
    """Its bytes tell its kind, the model gets it unchanged, and it is named after its contents."""
    keeping.user = f"ben{part['type']}"
    messages = [{"role": "user", "content": [{"type": "text", "text": "What is it?"}, part]}]
    answer = keeping.client.post(
        "/v1/chat/completions",
        content=json.dumps({"model": "m", "messages": messages}),
        headers=keeping.headers(),
    )
    assert answer.headers["x-engrams-files"] == "kept:1"
    assert keeping.sent()["messages"][-1]["content"][-1] == part
    eventually(lambda: len(labels(keeping)) == 1)
    (label,) = labels(keeping)
    assert label.startswith("audio-")
    assert label.endswith(".wav, 1")


def send_photo(bench: Harness, *texts: str) -> None:
    """Send a message of texts and the same photo, and wait until the photo is kept."""
    parts = [{"type": "text", "text": text} for text in texts]
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PHOTO}"}}
    answer = bench.ask([{"role": "user", "content": [*parts, picture]}])
    assert answer.headers["x-engrams-files"] == "kept:1"
    imports = "/v1/imports"
    eventually(
        lambda: all(
            item["state"] == "done"
            for item in bench.client.get(imports, headers=bench.headers()).json()["imports"]
        )
    )


def read_photos(bench: Harness) -> list[Record]:
    """The first passages of the pictures that are kept."""
    scope = ("user", bench.user)
    return [
        bench.engine.documents.read(document.id, scope)[0]
        for document in bench.engine.documents.list(scope)
        if document.first.media
    ]


def test_words_beside_a_picture_find_it(keeping: Harness) -> None:
    """They are its note. Later words about the same picture come after them, each once."""
    keeping.user = "dora"
    for said in ("My new bike, a gravel one.", "Does it suit Mount Rainier?", "My new bike"):
        send_photo(keeping, said)
    (photo,) = read_photos(keeping)
    assert photo.text.startswith("My new bike, a gravel one.\nDoes it suit Mount Rainier?\nPicture")
    for query in ("bike", "Rainier"):
        hits = keeping.engine.search(query, scope=("user", keeping.user), kinds=[Kind.PASSAGE]).hits
        assert [hit.record.id for hit in hits] == [photo.id]


@pytest.mark.parametrize(
    ("texts", "note"),
    [
        (["What is this?", "Page 7. The heron nests in reeds."], "What is this?\n"),
        (["Read on. " * 100], ""),
        ([f"My key: ghp_{'a1B2' * 9}, and a quagga."], "My key: "),
    ],
)
def test_a_note_has_the_senders_own_words_alone(
    keeping: Harness, texts: list[str], note: str
) -> None:
    """No page that a client adds, no long text and no secret becomes the note of a picture."""
    keeping.user = f"eva{len(texts[0])}"
    send_photo(keeping, *texts)
    (photo,) = read_photos(keeping)
    assert photo.text.startswith(f"{note}Picture" if note.endswith("\n") else note)
    assert not any(word in photo.text for word in ("a1B2", "heron", "Read"))


def test_a_document_of_text_gets_no_note_of_a_message(keeping: Harness) -> None:
    """The words of a file are its own."""
    keeping.user = "fred"
    text = {"type": "text", "text": "Does a quagga fit in?"}
    keeping.ask(
        [{"role": "user", "content": [text, openai_part(filename="l.pdf", file_data=DATA_URL)]}]
    )
    eventually(lambda: labels(keeping) == {"l.pdf, 2"})
    for passage in keeping.engine.documents.read("l.pdf", ("user", "fred")):
        assert "quagga" not in passage.text


def test_a_purged_message_takes_its_words_out_of_the_note(keeping: Harness) -> None:
    """Those of other messages, and the picture, stay."""
    keeping.user = "gina"
    for texts in (["The bike of my quagga."], ["How old is the ibex?", "Some page."]):
        send_photo(keeping, *texts)
    keeping.engine.add("The ibex is old.", scope=("user", "gina"))
    for turn in keeping.turns():
        if turn.role == "user" and "quagga" not in turn.text:
            keeping.engine.purge([turn.id], scope=("user", "gina"))
    (photo,) = read_photos(keeping)
    assert "quagga" in photo.text and "ibex" not in photo.text
    for turn in keeping.turns():
        if "quagga" in turn.text:
            assert keeping.engine.purge([turn.id], scope=("user", "gina")).proven
    (photo,) = read_photos(keeping)
    assert "quagga" not in photo.text and "pixels" in photo.text
