"""Imports in the background: received piece by piece, watched, resumed."""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx2
import pytest
from tests.flows.traces import holders, secret
from tests.surfaces.http.running import running
from tests.transfer.formats.samples import SAMPLES

from engrams.engine import MemoryEngine
from engrams.program.registry import create_app
from engrams.testing import temp_engine
from engrams.transfer.formats import EXPORT_FORMATS

LINES = "\n".join(
    json.dumps({"role": "user", "content": f"Crate {number} stands in hall {number % 3}."})
    for number in range(40)
).encode()


@pytest.fixture
def engine() -> Iterator[MemoryEngine]:
    with temp_engine(user="ann", serve__upload_bytes=100_000) as found:
        yield found


@pytest.fixture
def api(engine: MemoryEngine) -> Iterator[httpx2.Client]:
    with (
        running(create_app(engine, engine.settings)) as url,
        httpx2.Client(base_url=url + "/v1", timeout=30) as client,
    ):
        yield client


def done(api: httpx2.Client, id: str) -> dict[str, object]:
    """The import once it is over."""
    for _ in range(1000):
        told: dict[str, object] = api.get(f"/imports/{id}").json()
        if told["state"] in ("done", "failed"):
            return told
        time.sleep(0.02)
    raise AssertionError(told)


def test_an_import_is_answered_before_it_is_done(api: httpx2.Client, engine: MemoryEngine) -> None:
    """The answer comes before the import is done;
    its progress and report are read at Location; the file itself is gone.
    """
    answer = api.post("/imports", content=LINES, params={"format": "turns", "name": "chats"})
    assert (answer.status_code, answer.headers["location"]) == (
        202,
        f"/v1/imports/{answer.json()['id']}",
    )
    told = done(api, answer.json()["id"])
    assert (told["state"], told["name"], told["received"], told["done"], told["total"]) == (
        "done",
        "chats",
        len(LINES),
        40,
        40,
    )
    assert isinstance(told["report"], dict) and told["report"]["stored"] == 40
    assert [each["id"] for each in api.get("/imports").json()["imports"]] == [told["id"]]
    assert not list((engine.settings.home / "uploads").rglob("file"))
    assert api.delete(f"/imports/{told['id']}").status_code == 204
    assert api.get(f"/imports/{told['id']}").json()["report"]["stored"] == 40


def test_an_interrupted_upload_continues(api: httpx2.Client) -> None:
    """`received` says where to go on;
    a piece at another offset is a conflict; the last one starts the import.
    """
    head = {"upload-length": str(len(LINES))}
    begun = api.post(
        "/imports", content=LINES[:100], headers=head, params={"format": "turns"}
    ).json()
    assert (begun["state"], begun["received"]) == ("receiving", 100)
    wrong = api.patch(
        f"/imports/{begun['id']}", content=LINES[50:], headers={"upload-offset": "50"}
    )
    assert (wrong.status_code, "100 bytes" in wrong.json()["detail"]) == (409, True)
    more = api.patch(
        f"/imports/{begun['id']}", content=LINES[100:900], headers={"upload-offset": "100"}
    ).json()
    assert (more["state"], more["received"]) == ("receiving", 900)
    last = api.patch(
        f"/imports/{begun['id']}", content=LINES[900:], headers={"upload-offset": "900"}
    )
    assert last.status_code == 202
    told = done(api, begun["id"])
    assert isinstance(told["report"], dict) and told["report"]["stored"] == 40


def test_the_next_process_imports_a_waiting_file_once() -> None:
    """What was waiting when the server ended is imported by the next one, once."""
    with temp_engine(user="ann", jobs__workers=0) as engine:
        with running(create_app(engine, engine.settings)) as url:
            id = httpx2.post(
                url + "/v1/imports", content=LINES, params={"format": "turns"}, timeout=30
            ).json()["id"]
            assert httpx2.get(url + f"/v1/imports/{id}").json()["state"] == "waiting"
        from engrams import composition

        with (
            composition.open(engine.settings, jobs__workers=2) as other,
            running(create_app(other, other.settings)) as url,
        ):
            with httpx2.Client(base_url=url + "/v1") as api:
                told = done(api, id)
            assert isinstance(told["report"], dict) and told["report"]["stored"] == 40


@pytest.mark.parametrize("cut", ["file", "state", "job"])
def test_an_import_interrupted_at_its_end_is_not_repeated(cut: str) -> None:
    """Ended after the report was kept, after the file was gone, or after "done" was said:

    the next process imports nothing again.
    """
    with temp_engine(user="ann", jobs__workers=0) as engine:
        with running(create_app(engine, engine.settings)) as url:
            id = httpx2.post(
                url + "/v1/imports", content=LINES, params={"format": "turns"}, timeout=30
            ).json()["id"]
        place = next((engine.settings.home / "uploads").glob("*/" + id))
        about = json.loads((place / "about.json").read_text())
        report = {"stored": 7, "existing": 0, "refused": 0, "bad": [], "edges": 0, "scopes": {}}
        about |= {"state": "done" if cut == "job" else "running", "report": report}
        (place / "about.json").write_text(json.dumps(about))
        if cut != "file":
            (place / "file").unlink()
        from engrams import composition

        with (
            composition.open(engine.settings, jobs__workers=2) as other,
            running(create_app(other, other.settings)) as url,
        ):
            with httpx2.Client(base_url=url + "/v1") as api:
                told = done(api, id)
            for _ in range(500):
                if not other.store.queue(("waiting", "running")):
                    break
                time.sleep(0.02)
            assert (told["state"], told["received"], told["report"]["stored"]) == (
                "done",
                len(LINES),
                7,
            )
            assert not (place / "file").exists() and not other.store.queue(("waiting", "running"))
            assert not other.list(scope=("user", "ann")).records


def test_an_unreadable_file_is_a_visible_failure(api: httpx2.Client) -> None:
    """What cannot be read is in the report, or the import failed and says why;
    it never vanishes.
    """
    id = api.post(
        "/imports", content=b"\xff\xfe\x00 not a chat", params={"format": "chatgpt"}
    ).json()["id"]
    told = done(api, id)
    assert told["error"] or (isinstance(told["report"], dict) and told["report"]["bad"])


def test_too_large_files_and_unknown_ids_are_refused(api: httpx2.Client) -> None:
    """A file that is, or says it will be, larger than allowed is a 413;
    an unknown id and a hostile one are 404.
    """
    assert (
        api.post("/imports", content=b"x", headers={"upload-length": "100001"}).status_code == 413
    )
    assert api.post("/imports", content=b"x" * 100_001).status_code == 413
    assert api.post("/import", content=b"x" * 100_001).status_code == 413
    large = api.post("/export", json={"ids": ["x" * 17_000_000]})
    assert large.status_code == 413
    for id in ("0" * 26, "..%2F..%2Fx", "%00"):
        assert api.get(f"/imports/{id}").status_code == 404, id
        assert (
            api.patch(f"/imports/{id}", content=b"x", headers={"upload-offset": "0"}).status_code
            == 404
        )


@pytest.mark.parametrize("format", EXPORT_FORMATS)
def test_an_empty_memory_is_exported(format: str) -> None:
    """Each format answers with an export of nothing:
    mem0 with an empty list, a folder as an empty zip.
    """
    with temp_engine(user="ann") as engine, running(create_app(engine, engine.settings)) as url:
        answer = httpx2.get(f"{url}/v1/export?format={format}")
        assert answer.status_code == 200, answer.text
        if format == "mem0":
            assert answer.json() == {"results": []}
        if format == "markdown":
            assert all(
                name.endswith("/")
                for name in zipfile.ZipFile(io.BytesIO(answer.content)).namelist()
            )


def test_incognito_refuses_files() -> None:
    """Files would leave a trace on disk."""
    with (
        temp_engine(user="ann", incognito=True) as engine,
        running(create_app(engine, engine.settings)) as url,
    ):
        for answer in (
            httpx2.post(url + "/v1/imports", content=LINES),
            httpx2.get(url + "/v1/imports"),
            httpx2.get(url + "/v1/export"),
        ):
            assert answer.status_code == 422
        assert not engine.settings.home.exists()


@pytest.mark.skipif(
    not Path("/proc/self/fd").is_dir(), reason="only there can a file be read that has no name"
)
def test_a_kill_leaves_nothing_of_a_file_that_arrives(tmp_path: Path) -> None:
    """A server that is killed while it receives a file leaves none in the folder of temporary
    files.
    """
    folder = tmp_path / "temporary"
    folder.mkdir()
    env = {
        **os.environ,
        "ENGRAMS_HOME": str(tmp_path / "home"),
        "ENGRAMS_USER": "ann",
        "TMPDIR": str(folder),
    }
    words = [sys.executable, "-m", "engrams.program.entry", "serve", "--port", "0"]
    with (
        subprocess.Popen(
            words, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process,
        ExitStack() as stack,
    ):
        stack.callback(process.kill)  # or leaving the block would wait for ever after a failure
        assert process.stdout is not None
        port = int(
            process.stdout.readline().split("listens on ")[1].split("/v1")[0].rsplit(":", 1)[1]
        )
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
            connection.sendall(
                b"POST /v1/import?format=turns HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length:"
                b" 300000\r\n\r\n" + LINES * 50
            )
            places = Path(f"/proc/{process.pid}/fd")
            held: list[Path] = []
            for _ in range(1500):
                # A descriptor may be closed between its listing and the look at it.
                with suppress(FileNotFoundError):
                    held = [
                        place
                        for place in places.iterdir()
                        if os.path.realpath(place).startswith(str(folder)) and place.stat().st_size
                    ]
                if held:
                    break
                time.sleep(0.02)
            process.kill()
            process.wait()
    assert held
    assert not [place for place in folder.rglob("*") if place.is_file()]


def test_an_import_is_undone_once_by_its_owner(api: httpx2.Client, engine: MemoryEngine) -> None:
    """POST …/undo erases what one import brought;
    the list says so; twice is a conflict; another's is not found.
    """
    report = api.post("/import", content=LINES, params={"format": "turns", "name": "chats"}).json()
    assert report["id"]
    other = api.post(
        "/imports", content=b"The shed has a red roof.", params={"name": "notes.md"}
    ).json()["id"]
    done(api, other)
    assert (
        api.post(f"/imports/{report['id']}/undo", headers={"x-engrams-user": "bob"}).status_code
        == 404
    )
    undone = api.post(f"/imports/{report['id']}/undo").json()
    assert (undone["removed"] >= 40, undone["kept"]) == (True, [])
    assert [(each["name"], each["state"]) for each in api.get("/imports").json()["imports"]] == [
        ("notes.md", "done"),
        ("chats", "undone"),
    ]
    assert {record.text for record in engine.list(scope=("user", "ann")).records} == {
        "The shed has a red roof."
    }
    assert api.post(f"/imports/{report['id']}/undo").status_code == 409


def test_a_bad_file_fails_once(api: httpx2.Client, engine: MemoryEngine) -> None:
    """A broken or binary file is refused with its reason and line, is not tried again, and leaves
    no file behind.
    """
    for name, content, reason in (
        ("a.png", b"\x89PNG" + bytes(500), "PNG"),
        ("b.json", b'[{"text": "a"},\n oops]', "Line 2"),
    ):
        told = done(api, api.post("/imports", content=content, params={"name": name}).json()["id"])
        assert (told["state"], reason in str(told["error"]), name in str(told["error"])) == (
            "failed",
            True,
            True,
        )
        at_once = api.post("/import", content=content, params={"name": name})
        assert (at_once.status_code, reason in at_once.json()["detail"]) == (400, True)
    assert not engine.store.queue(("waiting", "running", "dead"))
    assert not list((engine.settings.home / "uploads").rglob("file"))
    kept = api.post(
        "/import",
        content=b'{"text": "a"}\n{"text": \n',
        params={"name": "c.jsonl", "skip_bad": "true"},
    ).json()
    assert (kept["stored"], kept["bad"][0]["line"]) == (1, 2)


def test_an_undone_import_leaves_the_git_history_too() -> None:
    """Undone with `git`, and reset with `git`:
    no object of the files' history holds the words; without it they do.
    """
    words = [secret(number) for number in range(3)]
    settings = {
        "vault__git": True,
        "vault__enabled": True,
        "vault__watch": "off",
        "serve__allow_reset": True,
    }
    with (
        temp_engine(user="ann", **settings) as engine,
        running(create_app(engine, engine.settings)) as url,
        httpx2.Client(base_url=url + "/v1", timeout=60) as api,
    ):
        home = engine.settings.home
        told = []
        for word in words:
            body = json.dumps({"role": "user", "content": f"The attic opens with {word}."}).encode()
            told.append(
                done(
                    api, api.post("/imports", content=body, params={"format": "turns"}).json()["id"]
                )
            )
            engine.drain(30)
            engine.vault.commit()
        assert holders(home, words)["git objects"] == words
        assert api.post(f"/imports/{told[0]['id']}/undo").status_code == 200
        assert words[0] in holders(home, words)["git objects"]
        assert api.post(f"/imports/{told[1]['id']}/undo", params={"git": True}).status_code == 200
        assert words[1] not in holders(home, words).get("git objects", [])
        assert httpx2.post(url + "/api/reset", params={"git": True}, timeout=60).status_code == 200
        assert holders(home, words[1:]) == {}


def test_a_file_of_another_memory_is_previewed_imported_and_undone(api: httpx2.Client) -> None:
    """A preview over REST counts kinds and history and stores nothing;
    the import keeps both, and its undo takes both back.
    """
    content = json.dumps(SAMPLES["graphiti"])
    seen = api.post("/import", content=content, params={"dry_run": True}).json()
    assert (seen["format"], seen["stored"], seen["history"], seen["kinds"]) == (
        "zep",
        4,
        1,
        {"turn": 1, "fact": 3},
    )
    assert not api.get("/memories").json()["memories"]
    done = api.post("/import", content=content).json()
    assert done["stored"] == 4
    memories = api.get("/memories", params={"status": ["active", "superseded"]}).json()["memories"]
    assert {(one["text"], one["status"]) for one in memories} >= {
        ("Ann works at Acme", "superseded"),
        ("Ann works at Globex", "active"),
    }
    assert api.post(f"/imports/{done['id']}/undo").json()["removed"] >= 4
    two = json.dumps([{"memory": "x", "id": name, "user_id": name} for name in "ab"])
    assert api.post("/import", content=two).status_code == 400
    assert api.post("/import", content=two, params={"from_user": "a"}).json()["stored"] == 1


def test_a_preview_counts_and_stores_nothing(api: httpx2.Client, engine: MemoryEngine) -> None:
    """Format, number and first texts of a file are told before it is imported;
    what is no text is refused.
    """
    told = api.post(
        "/import", content=LINES, params={"name": "chats.jsonl", "dry_run": True}
    ).json()
    assert (told["format"], told["stored"], told["bad"]) == ("turns", 40, [])
    assert told["samples"][0] == "Crate 0 stands in hall 0."
    assert (
        api.post(
            "/import",
            content=b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 9,
            params={"dry_run": True},
        ).status_code
        == 400
    )
    assert api.get("/imports").json() == {"imports": []}
    assert not engine.list(scope=("user", "ann")).records


def test_chosen_memories_are_exported(api: httpx2.Client, engine: MemoryEngine) -> None:
    """The ids that are sent and no others; an unknown one is 404."""
    ids = [
        engine.add(text, scope=("user", "ann")).id
        for text in ("The shed is red.", "The barn is blue.")
    ]
    lines = [
        json.loads(line) for line in api.post("/export", json={"ids": ids[:1]}).text.splitlines()
    ]
    assert [line["record"]["id"] for line in lines if "record" in line] == ids[:1]
    assert any("history" in line for line in lines)
    assert api.post("/export", json={"ids": ["none"]}).status_code == 404


def test_exports_for_other_programs_have_their_names_and_formats(api: httpx2.Client) -> None:
    """The formats of other programs come with their names;
    a folder comes as a zip; an unknown one is refused.
    """
    api.post("/import", content=json.dumps([{"text": "Ann lives in Lyon", "kind": "fact"}]))
    table = api.get("/export", params={"format": "csv"})
    assert (
        table.headers["content-type"].split(";")[0],
        "memory.csv" in table.headers["content-disposition"],
    ) == ("text/csv", True)
    assert "Ann lives in Lyon" in table.text
    assert (
        api.get("/export", params={"format": "mem0"}).json()["results"][0]["memory"]
        == "Ann lives in Lyon"
    )
    vault = zipfile.ZipFile(io.BytesIO(api.get("/export", params={"format": "obsidian"}).content))
    assert "Home.md" in vault.namelist() and any(
        name.startswith("Memories/") for name in vault.namelist()
    )
    assert api.get("/export", params={"format": "word"}).status_code == 422
