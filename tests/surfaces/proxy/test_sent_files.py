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

from engrams.testing import temp_engine

LEASE = making.make_pdf(
    [["The rent is 900."], ["The tenant may keep one cat. Dogs need consent."]], "Lease"
)
ENCODED = base64.b64encode(LEASE).decode()
DATA_URL = f"data:application/pdf;base64,{ENCODED}"
PICTURE = {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}}
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
