"""Signatures of requests to S3, against the examples that AWS published, and where keys come from."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest

from engrams.errors import InputError
from engrams.sync import aws_settings
from engrams.sync.aws_signature import AwsKeys, RequestToSign, sign, write_path, write_query
from engrams.sync.place_addresses import open_place
from engrams.sync.places import NO_ACCESS, PlaceAccess

KEYS = AwsKeys("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
MOMENT = datetime(2013, 5, 24, tzinfo=UTC)
EMPTY = sha256(b"").hexdigest()
WELCOME = sha256(b"Welcome to Amazon S3.").hexdigest()
HOST = {"host": "examplebucket.s3.amazonaws.com", "x-amz-date": "20130524T000000Z"}
GET = {**HOST, "range": "bytes=0-9", "x-amz-content-sha256": EMPTY}
PUT = {
    **HOST,
    "Date": "Fri, 24 May 2013 00:00:00 GMT",
    "x-amz-storage-class": "REDUCED_REDUNDANCY",
    "x-amz-content-sha256": WELCOME,
}
LIST = {**HOST, "x-amz-content-sha256": EMPTY}


@pytest.fixture(autouse=True)
def _no_aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN", "REGION", "PROFILE"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.parametrize(
    ("request_", "signature"),
    [
        (
            RequestToSign("GET", "/test.txt", "", GET, EMPTY),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
        ),
        (
            RequestToSign("PUT", write_path("/test$file.text"), "", PUT, WELCOME),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
        ),
        (
            RequestToSign("GET", "/", write_query({"lifecycle": ""}), LIST, EMPTY),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
        ),
        (
            RequestToSign("GET", "/", write_query({"prefix": "J", "max-keys": "2"}), LIST, EMPTY),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
        ),
    ],
)
def test_published_examples(request_: RequestToSign, signature: str) -> None:
    """The signatures are those that the documentation of S3 shows for these requests."""
    assert sign(request_, KEYS, "us-east-1", MOMENT).endswith(f",Signature={signature}")


def test_keys_come_from_the_place_then_the_environment_then_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A login of the place counts before AWS_ACCESS_KEY_ID, and this before ~/.aws and its profiles."""
    with pytest.raises(InputError, match="needs a key"):
        open_place("s3://bucket/memory", NO_ACCESS, tmp_path)
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text(
        "[default]\naws_access_key_id = FILE\naws_secret_access_key = a%b\n"
        "[work]\naws_access_key_id=WORK\naws_secret_access_key=w\naws_session_token=t\n"
    )
    (tmp_path / ".aws" / "config").write_text(
        "[default]\nregion = eu-north-1\n[profile work]\nregion = eu-west-3\n"
    )
    assert aws_settings.find_keys(NO_ACCESS) == AwsKeys("FILE", "a%b")
    assert aws_settings.find_region() == "eu-north-1"
    monkeypatch.setenv("AWS_PROFILE", "work")
    assert aws_settings.find_keys(NO_ACCESS) == AwsKeys("WORK", "w", "t")
    assert open_place("s3://b-1/m", NO_ACCESS, tmp_path).address == "s3://b-1/m?region=eu-west-3"
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "ENVIRON")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "e")
    assert aws_settings.find_keys(NO_ACCESS) == AwsKeys("ENVIRON", "e")
    assert aws_settings.find_keys(PlaceAccess("GIVEN", "g")) == AwsKeys("GIVEN", "g")
    assert "g'" not in repr(PlaceAccess("GIVEN", "g")) + repr(AwsKeys("GIVEN", "g"))
    (tmp_path / ".aws" / "config").write_text("aws_secret_access_key = hidden\n")
    with pytest.raises(InputError) as raised:
        aws_settings.find_region()
    assert "hidden" not in str(raised.value)


@pytest.mark.parametrize(
    "address",
    [
        "s3://",
        "s3://a/b",
        "s3://bucket/../other",
        "s3://bucket/memory?zone=1",
        "s3://bucket/memory?endpoint=ftp://host",
        "s3://bucket/memory?endpoint=https://ann:word@host",
        "s3://ann:word@bucket/memory",
        "webdav://cloud.example.org/memory",
        "webdavs://cloud.example.org/memory?x=1",
        "webdavs://ann:word@cloud.example.org/memory",
        "https://cloud.example.org/memory",
    ],
)
def test_addresses_that_are_no_place(address: str, tmp_path: Path) -> None:
    """A malformed address, a password in it, and a password in the open are refused before any request."""
    with pytest.raises(InputError):
        open_place(address, PlaceAccess("ann", "x"), tmp_path)
