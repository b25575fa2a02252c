"""WebDAV and S3 as places, on real servers: exchange, purge, failures of the network, and what errors say."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import httpx2
import pytest
from tests.sync.replicas import OWNER, Device, exchange_all, pair_at, plain_at, raw
from tests.sync.test_sync_commands import engrams
from tests.sync.web_servers import (
    BUCKET,
    INSTALLED,
    MISSING,
    PASSWORD,
    USER,
    Environ,
    Network,
    Storage,
    make_webdav,
    serve_app,
    serve_s3,
)

from engrams.core import Status
from engrams.errors import StoreError
from engrams.sync import web_client
from engrams.sync.place_addresses import open_place
from engrams.sync.places import Place, PlaceAccess, PlaceFile

if INSTALLED:
    from botocore.auth import S3SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not INSTALLED, reason=MISSING)]

SECRET = "The wallpaper in Zanzibar was ultramarine."
LOGIN = PlaceAccess(USER, PASSWORD)
FILES = [PlaceFile("0123456789" * 2, number, "seg") for number in range(1, 1010)]
WORDS = (b"ultramarine", b"Zanzibar", b"laptop", b"phone")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries follow each other at once, and nothing of this machine's AWS is used."""
    monkeypatch.setattr(web_client, "_PAUSE", 0.01)
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)


@pytest.fixture
def dav(tmp_path: Path) -> Network:
    return make_webdav(tmp_path / "dav")


@pytest.fixture
def dav_address(dav: Network) -> Iterator[str]:
    with serve_app(dav) as host:
        yield f"webdav://{host}/of ann/memory"


@pytest.fixture
def storage() -> Iterator[Storage]:
    with serve_s3() as served:
        yield served


@pytest.fixture
def bucket(storage: Storage, tmp_path: Path) -> Place:
    return open_place(storage.address, PlaceAccess(storage.key_id, storage.secret), tmp_path)


def read_bucket(storage: Storage) -> bytes:
    """All names and bytes of the bucket."""
    listed = storage.admin.list_objects_v2(Bucket=BUCKET).get("Contents", [])
    return b"".join(
        item["Key"].encode()
        + storage.admin.get_object(Bucket=BUCKET, Key=item["Key"])["Body"].read()
        for item in listed
    )


def play_exchange(tmp_path: Path, address: str, access: PlaceAccess) -> None:
    """Two devices exchange, edit and purge; nothing of the purged remains in their segments."""
    laptop, phone = Device(tmp_path, "laptop"), Device(tmp_path, "phone")
    laptop.engine.sync.init(address, OWNER, "laptop", access)
    pair_at(laptop, phone, address, access=access)
    note = laptop.say(SECRET)
    phone.say("My bicycle is in the cellar.")
    exchange_all([laptop, phone], 2)
    assert laptop.export() == phone.export()
    assert len(phone.texts()) == 2
    assert "ultramarine" in plain_at(laptop)
    phone.engine.purge(note, scope=OWNER)
    exchange_all([phone, laptop], 2)
    assert laptop.get(note).status is Status.PURGED
    assert "ultramarine" not in plain_at(phone)
    assert not phone.engine.sync.status().purges
    for device in (laptop, phone):
        device.close()


@pytest.mark.parametrize("digest", [False, True])
def test_devices_over_webdav(digest: bool, tmp_path: Path) -> None:
    """Memories and a purge travel through a server of WebDAV, by either kind of login; its folder is made,
    and it has no word of them.
    """
    with serve_app(make_webdav(tmp_path / "dav", digest=digest)) as host:
        play_exchange(tmp_path, f"webdav://{host}/of ann/memory", LOGIN)
    content = raw(tmp_path / "dav")
    assert content
    assert not [word for word in WORDS if word in content]
    assert not list((tmp_path / "dav").rglob("*.new"))


def test_devices_over_s3(tmp_path: Path, storage: Storage) -> None:
    """Memories and a purge travel through a bucket that checks signatures; it has no word of them."""
    play_exchange(tmp_path, storage.address, PlaceAccess(storage.key_id, storage.secret))
    content = read_bucket(storage)
    assert b"/memory/devices/" in content
    assert not [word for word in WORDS if word in content]


def test_many_files_in_a_bucket(storage: Storage, bucket: Place) -> None:
    """A bucket of more files than one answer lists is read to its end; foreign names are left out."""
    httpx2.post(f"{storage.endpoint}/moto-api/reset-auth", content=b"inf")
    for file in FILES:
        key = f"of-ann/memory/{file.path}"
        storage.admin.put_object(Bucket=BUCKET, Key=key, Body=b"x")
    for key in ("notes.txt", f"{FILES[0].path}", "of-ann/memory/devices/x/1.seg"):
        storage.admin.put_object(Bucket=BUCKET, Key=key, Body=b"x")
    assert bucket.list() == set(FILES)
    assert bucket.read(PlaceFile(FILES[0].member, 5000, "seg")) is None


@pytest.mark.parametrize("prefix", ["plain", "of ann+é=1/~x,y;z", "a%20b/c&d", "日記/*'()!", ""])
def test_signatures_fit_what_is_sent(prefix: str, tmp_path: Path) -> None:
    """Whatever the prefix, the signature is the one that the tools of AWS make of the bytes sent."""
    sent: list[Environ] = []

    def note(environ: Environ) -> str:
        sent.append(dict(environ))
        return "404 Not Found" if environ["REQUEST_METHOD"] == "GET" else "200 OK"

    network = Network(lambda *_: [], note)
    keys = Credentials("AKIA1", "secret")
    with serve_app(network) as host:
        address = f"s3://{BUCKET}/{prefix}?endpoint=http://{host}&region=eu-west-1"
        place = open_place(address, PlaceAccess(keys.access_key, keys.secret_key), tmp_path)
        place.write({FILES[0]: b"content"})
        assert place.read(FILES[0]) is None
        with pytest.raises(StoreError):
            place.list()
    assert len(sent) == 3
    for environ in sent:
        asked = AWSRequest(
            environ["REQUEST_METHOD"],
            f"http://{host}{environ['REQUEST_URI']}",
            {
                "host": host,
                "x-amz-date": environ["HTTP_X_AMZ_DATE"],
                "x-amz-content-sha256": environ["HTTP_X_AMZ_CONTENT_SHA256"],
            },
        )
        asked.context["timestamp"] = environ["HTTP_X_AMZ_DATE"]
        signer = S3SigV4Auth(keys, "s3", "eu-west-1")
        text = signer.string_to_sign(asked, signer.canonical_request(asked))
        assert environ["HTTP_AUTHORIZATION"].endswith(f"={signer.signature(text, asked)}")


def fail_twice(method: str, way: str) -> object:
    """Make a plan of a network: two requests of a method fail."""
    left = [2]

    def fail(environ: Environ) -> str:
        is_hit = environ["REQUEST_METHOD"] == method and left[0] > 0
        left[0] -= is_hit
        return way if is_hit else ""

    return fail


@pytest.mark.parametrize("way", ["503 Busy", "429 Slower", "cut before", "cut after"])
@pytest.mark.parametrize("method", ["PUT", "GET", "MOVE", "PROPFIND"])
def test_webdav_tries_again(
    method: str, way: str, dav: Network, dav_address: str, tmp_path: Path
) -> None:
    """A request that failed is made again, also where it was done and only its answer got lost."""
    place = open_place(dav_address, LOGIN, tmp_path)
    place.prepare()
    place.write({FILES[0]: b"first" * 1000})
    dav.fail = fail_twice(method, way)
    place.write({FILES[0]: b"second" * 1000, FILES[1]: b"x"})
    assert place.list() == set(FILES[:2])
    assert place.read(FILES[0]) == b"second" * 1000


@pytest.mark.parametrize("way", ["503 SlowDown", "500 InternalError", "cut before", "cut after"])
@pytest.mark.parametrize("method", ["PUT", "GET"])
def test_s3_tries_again(method: str, way: str, storage: Storage, bucket: Place) -> None:
    """The same of a bucket; each try is signed anew."""
    storage.network.fail = fail_twice(method, way)
    bucket.write({FILES[0]: b"second" * 1000})
    assert bucket.list() == {FILES[0]}
    assert bucket.read(FILES[0]) == b"second" * 1000


def test_an_upload_that_is_cut_off_leaves_the_file_before(
    dav: Network, dav_address: str, tmp_path: Path
) -> None:
    """Where the connection ends again and again in the middle, others still read the whole former file, and
    the next time sends all.
    """
    place = open_place(dav_address, LOGIN, tmp_path)
    place.prepare()
    place.write({FILES[0]: b"first" * 1000})
    dav.fail = lambda environ: "cut before" if environ["REQUEST_METHOD"] == "PUT" else ""
    with pytest.raises(StoreError, match="cannot be reached"):
        place.write({FILES[0]: b"second" * 1000})
    assert place.read(FILES[0]) == b"first" * 1000
    assert place.list() == {FILES[0]}
    dav.fail = lambda _: ""
    place.write({FILES[0]: b"second" * 1000})
    assert place.read(FILES[0]) == b"second" * 1000


def test_a_server_that_cannot_move(dav: Network, dav_address: str, tmp_path: Path) -> None:
    """A server that refuses to move files gets them straight away, and keeps no helper files."""
    dav.fail = lambda environ: "405 Not Allowed" if environ["REQUEST_METHOD"] == "MOVE" else ""
    place = open_place(dav_address, LOGIN, tmp_path)
    place.prepare()
    place.write({FILES[0]: b"first", FILES[1]: b"second"})
    assert place.list() == set(FILES[:2])
    assert place.read(FILES[0]) == b"first"
    assert not list((tmp_path / "dav").rglob("*.new"))


@pytest.mark.parametrize("way", ["503 Busy", "cut after"])
def test_files_are_removed(
    way: str, dav: Network, dav_address: str, storage: Storage, bucket: Place, tmp_path: Path
) -> None:
    """Files that are not needed any more go from both, also where an answer got lost; others stay."""
    over_dav = open_place(dav_address, LOGIN, tmp_path)
    over_dav.prepare()
    for place, network in ((over_dav, dav), (bucket, storage.network)):
        place.write(dict.fromkeys(FILES[:3], b"x"))
        network.fail = fail_twice("DELETE", way)
        place.remove(FILES[1:5])
        assert place.list() == {FILES[0]}
        network.fail = lambda environ: "403 No" if environ["REQUEST_METHOD"] == "DELETE" else ""
        with pytest.raises(StoreError):
            place.remove(FILES[:1])
        assert place.list() == {FILES[0]}


def kill_at_segment(network: Network, home: Path, second: bool) -> None:
    """Run `engrams sync now`, and kill it while it sends a segment."""
    pids: list[int] = []
    counted = [0]

    def fail(environ: Environ) -> str:
        if environ["REQUEST_METHOD"] != "PUT" or ".seg" not in environ["PATH_INFO"]:
            return ""
        counted[0] += 1
        if counted[0] <= second:
            return ""
        while not pids:
            time.sleep(0.01)
        os.kill(pids[0], 9)
        return "cut before"

    network.fail = fail
    line = [sys.executable, "-m", "engrams.program.entry", "sync", "now"]
    environ = {**os.environ, "HOME": str(home), "ENGRAMS_HOME": str(home / "memory")}
    with subprocess.Popen(line, env=environ, stderr=subprocess.DEVNULL) as process:
        pids.append(process.pid)
    assert process.returncode == -9
    network.fail = lambda _: ""


def test_a_killed_upload_goes_on(dav: Network, dav_address: str, tmp_path: Path) -> None:
    """A process that is killed while it sends loses nothing: the next one sends what is missing, once."""
    laptop, phone = tmp_path / "laptop", tmp_path / "phone"
    for home in (laptop, phone):
        home.mkdir()
    login = {"ENGRAMS_SYNC_PASSWORD": PASSWORD}
    engrams(laptop, "sync", "init", dav_address, "--name", "laptop", "--login", USER, **login)
    code = engrams(laptop, "sync", "pair")["code"]
    for number in range(3):
        engrams(laptop, "add", f"The piano number {number} is in the hall.")
        kill_at_segment(dav, laptop, second=False)
    assert engrams(laptop, "sync", "now")["sent"] == 0
    engrams(phone, "sync", "join", dav_address, "--login", USER, ENGRAMS_SYNC_CODE=code, **login)
    told = {record["id"] for record in engrams(laptop, "list")["records"]}
    assert len(told) >= 3
    assert {record["id"] for record in engrams(phone, "list")["records"]} == told
    assert engrams(laptop, "sync", "status")["to_send"] == 0


def test_the_recovery_code_is_shown_whatever_fails_after_it(
    dav: Network, dav_address: str, tmp_path: Path
) -> None:
    """Where the place takes the first files and no segment, the code is shown with the error; where it
    takes none, nothing is begun, and the command works later.
    """
    dav.fail = lambda environ: "507 Full" if environ["REQUEST_METHOD"] == "PUT" else ""
    login = {"ENGRAMS_SYNC_PASSWORD": PASSWORD}
    line = ("sync", "init", dav_address, "--login", USER)
    failed = engrams(tmp_path, *line, code=5, **login)
    assert "no room" in failed["error"]["hint"]
    dav.fail = lambda environ: "507 Full" if ".seg" in environ["PATH_INFO"] else ""
    ran = subprocess.run(
        [sys.executable, "-m", "engrams.program.entry", *line],
        env={
            **os.environ,
            "HOME": str(tmp_path),
            "ENGRAMS_HOME": str(tmp_path / "memory"),
            **login,
        },
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 5
    assert len(ran.stdout.strip().replace("-", "")) == 40
    dav.fail = lambda _: ""
    assert engrams(tmp_path, "sync", "now")["waiting"] == []


def test_what_webdav_errors_say(dav: Network, dav_address: str, tmp_path: Path) -> None:
    """A wrong password, no password, a folder that is not there, a full, a locked and a foreign server."""

    def expect(words: str, address: str = dav_address, access: PlaceAccess = LOGIN) -> str:
        with pytest.raises(StoreError, match=words) as raised:
            open_place(address, access, tmp_path).list()
        assert PASSWORD not in f"{raised.value!r} {raised.value.hint}"
        return raised.value.hint

    assert "--login" in expect("does not take the name", access=PlaceAccess(USER, "wrong"))
    assert "--login" in expect("wants a login", access=PlaceAccess())
    assert "Correct the address" in expect("is not there")
    for status, words in (("507 Full", "room"), ("423 Locked", "locked"), ("405 No", "path")):
        dav.fail = lambda _, status=status: status
        assert words in expect(f"answers {status[:3]}")
    dav.headers, dav.fail = [("location", "https://elsewhere.example.org/x")], lambda _: "301 Moved"
    assert "trust" in expect("sends to https://elsewhere.example.org/x")
    for body in (b"<html>", b'<!DOCTYPE x [<!ENTITY y "z">]><x>&y;</x>', b""):
        dav.fail, dav.body = lambda _: "207 Multi-Status", body
        assert "path" in expect("does not answer as WebDAV")
    dav.fail = lambda _: "200 OK"
    assert "path" in expect("does not answer as WebDAV")
    expect("cannot be reached", "webdav://127.0.0.1:9/x")


def test_what_s3_errors_say(storage: Storage, tmp_path: Path) -> None:
    """A wrong id, a wrong secret, a missing bucket, a key without rights, another region, a wrong clock."""
    key = PlaceAccess(storage.key_id, storage.secret)

    def expect(words: str, address: str = storage.address, access: PlaceAccess = key) -> str:
        with pytest.raises(StoreError, match=words) as raised:
            open_place(address, access, tmp_path).list()
        assert storage.secret not in f"{raised.value!r} {raised.value.hint}"
        return raised.value.hint

    move = "engrams sync move"
    assert move in expect("id of the key", access=PlaceAccess("AKIA2222222222222222", "x"))
    assert move in expect("secret of the key", access=PlaceAccess(storage.key_id, "wrong"))
    missing = storage.address.replace(BUCKET, "no-such-bucket")
    assert "make the bucket" in expect("no such bucket", missing)
    with pytest.raises(StoreError, match="no such bucket"):
        open_place(missing, key, tmp_path).read(FILES[0])
    network = storage.network
    network.fail = lambda _: "403 Forbidden"
    network.body = b"<Error><Code>AccessDenied</Code></Error>"
    assert "s3:ListBucket" in expect("forbids")
    network.body = b"<Error><Code>RequestTimeTooSkewed</Code></Error>"
    moment = format_datetime(datetime.now(UTC) + timedelta(hours=2), usegmt=True)
    network.headers = [("date", moment)]
    assert "Set the clock" in expect("120 minutes slow")
    network.fail = lambda _: "400 Bad Request"
    network.body = (
        b"<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-3</Region></Error>"
    )
    assert "region=eu-west-3" in expect("in the region eu-west-3")
    network.fail, network.body = lambda _: "200 OK", b"<html>"
    assert "endpoint" in expect("does not answer as S3")


def test_a_bucket_that_keeps_versions_is_told(storage: Storage, tmp_path: Path) -> None:
    """Where a bucket keeps what was replaced, or the key may not ask, the place says so."""
    assert (
        "may not ask"
        in open_place(
            storage.address, PlaceAccess(storage.key_id, storage.secret), tmp_path
        ).remains
    )
    keys = storage.admin._request_signer._credentials
    place = open_place(storage.address, PlaceAccess(keys.access_key, keys.secret_key), tmp_path)
    assert place.remains == ""
    enabled = {"Status": "Enabled"}
    storage.admin.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration=enabled)
    assert "keeps earlier versions" in place.remains


def test_keys_of_the_environment(storage: Storage, tmp_path: Path) -> None:
    """A bucket works with the variables of the tools of AWS alone, and the home then keeps no key; the
    endpoint stays in the address, so that another shell reaches the same bucket.
    """
    keys = {"AWS_ACCESS_KEY_ID": storage.key_id, "AWS_SECRET_ACCESS_KEY": storage.secret}
    more = {"AWS_ENDPOINT_URL": storage.endpoint, "AWS_REGION": "eu-central-1"}
    engrams(tmp_path, "add", "The piano is in the hall.")
    begun = engrams(tmp_path, "sync", "init", f"s3://{BUCKET}/m", **keys, **more)
    assert begun["report"]["sent"] == 1
    assert engrams(tmp_path, "sync", "now", **keys)["sent"] == 0
    assert storage.secret.encode() not in raw(tmp_path)
    assert "key" in engrams(tmp_path, "sync", "now", code=1)["error"]["message"]


def test_passwords_reach_no_log(
    dav_address: str, storage: Storage, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """No password stands in a log, however much is logged, nor in the segments or the memory."""
    for name in ("engrams", "httpx2", "httpcore2", ""):
        caplog.set_level(logging.DEBUG, name)
    for number, (address, access) in enumerate(
        [
            (dav_address, LOGIN),
            (storage.address, PlaceAccess(storage.key_id, storage.secret)),
        ]
    ):
        device = Device(tmp_path, f"device{number}")
        device.engine.sync.init(address, OWNER, device.label, access)
        device.say(SECRET)
        device.engine.sync.now()
        status = repr(device.engine.sync.status())
        device.close()
        assert access.password not in status + caplog.text
        kept = [
            path.name
            for path in device.home.rglob("*")
            if path.is_file() and access.password in path.read_bytes().decode("utf-8", "replace")
        ]
        assert kept in ([], ["device.json"])
        device_file = device.home / "sync" / "device.json"
        assert device_file.stat().st_mode & 0o077 == 0
