"""A bucket of S3, or of storage that is compatible with it, as a place.

A bucket shows an object whole or not at all, so a segment is put straight away.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from hashlib import sha256
from urllib.parse import parse_qsl, quote, urlsplit
from xml.etree.ElementTree import Element

import httpx2

from engrams.errors import InputError, StoreError
from engrams.sync import aws_settings
from engrams.sync.aws_signature import (
    AwsKeys,
    RequestToSign,
    sign,
    write_path,
    write_query,
    write_time,
)
from engrams.sync.places import PlaceAccess, PlaceFile
from engrams.sync.web_client import WebAnswer, WebClient
from engrams.transfer.documents.packages import iter_named, parse_xml

_FOLDER = "devices"
_BUCKET = re.compile(r"[\w-][\w.-]{1,253}[\w-]", re.ASCII)
_OPTIONS = frozenset({"endpoint", "region"})
_FORM = (
    "An S3 place is s3://BUCKET/PREFIX, with ?endpoint=URL and &region=NAME where it is not AWS."
)
_KEY_HINT = "`engrams sync move` takes another key: --login ID. Or correct the variables AWS_…."
_VERSIONS_KEPT = "The bucket keeps earlier versions of replaced files, sealed, until a rule of the bucket or somebody deletes them."
_VERSIONS_UNKNOWN = "The key may not ask whether the bucket keeps earlier versions of replaced files. It may keep them, sealed."
_PROBLEMS = {
    "InvalidAccessKeyId": ("does not know the id of the key", _KEY_HINT),
    "SignatureDoesNotMatch": ("does not take the secret of the key", _KEY_HINT),
    "ExpiredToken": ("says that the session token is over", "Log in again where it was made."),
    "InvalidToken": ("does not take the session token", "Set AWS_SESSION_TOKEN anew, or unset it."),
    "AccessDenied": (
        "forbids this",
        "The key needs the rights s3:ListBucket on the bucket, and s3:GetObject, s3:PutObject and s3:DeleteObject in it.",
    ),
    "NoSuchBucket": (
        "has no such bucket",
        "Correct the address, or make the bucket where it is kept.",
    ),
}
"""By the code of the error: what the place does, and what helps."""


class S3Place:
    """Objects of a bucket below a prefix, such as ``s3://bucket/memory?endpoint=https://…``."""

    def __init__(self, address: str, access: PlaceAccess) -> None:
        """Set the place up. InputError: the address is malformed, or no key is to be found."""
        parts = urlsplit(address)
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        bucket = parts.netloc
        prefix = parts.path.strip("/")
        is_odd = parts.fragment or options.keys() - _OPTIONS or {".", ".."} & {*prefix.split("/")}
        if not _BUCKET.fullmatch(bucket) or is_odd:
            raise InputError(f"engrams cannot use {address!r} as a place.", hint=_FORM)
        endpoint = (options.get("endpoint") or aws_settings.find_endpoint()).rstrip("/")
        region = options.get("region") or aws_settings.find_region()
        query = f"region={quote(region)}"
        if endpoint:
            _check_endpoint(endpoint)
            query = f"endpoint={quote(endpoint, safe=':/')}&{query}"
        self.address = f"s3://{bucket}/{prefix}?{query}"
        self._prefix = f"{prefix}/" if prefix else ""
        self._url = _locate(bucket, endpoint, region)
        self._client = WebClient(
            f"s3://{bucket}",
            self._url,
            auth=_SignedAuth(aws_settings.find_keys(access), region),
        )

    @property
    def remains(self) -> str:
        answer = self._client.request("GET", f"{self._url}?{write_query({'versioning': ''})}")
        if not answer.is_good:
            return _VERSIONS_UNKNOWN
        is_versioned = any(True for _ in iter_named(self._parse(answer), "Status"))
        return _VERSIONS_KEPT if is_versioned else ""

    def prepare(self) -> None:
        """Do nothing: a prefix needs no making, and a bucket is made where it is paid for."""

    def list(self) -> frozenset[PlaceFile]:
        files: set[PlaceFile] = set()
        folder = f"{self._prefix}{_FOLDER}/"
        query = {"list-type": "2", "prefix": folder}
        while True:
            page = self._parse(
                self._check(self._client.request("GET", f"{self._url}?{write_query(query)}"))
            )
            parsed = (
                PlaceFile.parse((key.text or "").removeprefix(folder))
                for key in iter_named(page, "Key")
            )
            files.update(file for file in parsed if file is not None)
            token = next(
                (item.text or "" for item in iter_named(page, "NextContinuationToken")), ""
            )
            if not token or token == query.get("continuation-token"):
                return frozenset(files)
            query["continuation-token"] = token

    def read(self, file: PlaceFile) -> bytes | None:
        answer = self._client.request("GET", self._locate(file))
        is_missing = answer.status == httpx2.codes.NOT_FOUND
        if is_missing and self._read_problem(answer, "Code") != "NoSuchBucket":
            return None
        return self._check(answer).body

    def write(self, files: Mapping[PlaceFile, bytes]) -> None:
        for file, data in files.items():
            self._check(self._client.request("PUT", self._locate(file), data))

    def remove(self, files: Collection[PlaceFile]) -> None:
        for file in files:
            answer = self._client.request("DELETE", self._locate(file))
            if answer.status != httpx2.codes.NOT_FOUND:
                self._check(answer)

    def _locate(self, file: PlaceFile) -> str:
        return f"{self._url}/{write_path(self._prefix + file.path)}"

    def _parse(self, answer: WebAnswer) -> Element:
        try:
            return parse_xml(answer.body)
        except InputError:
            raise StoreError(
                f"{self._client.address} does not answer as S3 does.",
                hint="See whether the endpoint is right.",
            ) from None

    def _read_problem(self, answer: WebAnswer, name: str) -> str:
        """Return what an error says under a name; empty: nothing."""
        if not answer.body:
            return ""
        return next((item.text or "" for item in iter_named(self._parse(answer), name)), "")

    def _check(self, answer: WebAnswer) -> WebAnswer:
        """Return an answer that says yes. StoreError: what it says, and what to do."""
        if answer.is_good:
            return answer
        code = self._read_problem(answer, "Code")
        address = self._client.address
        region = answer.headers.get("x-amz-bucket-region", "") or self._read_problem(
            answer, "Region"
        )
        if code == "RequestTimeTooSkewed":
            raise StoreError(
                f"The clock of this machine is {_compare_clocks(answer)}, so {address} refuses what it signs.",
                hint="Set the clock, and repeat it.",
            )
        if region and code not in _PROBLEMS:
            raise StoreError(
                f"{address} is in the region {region}.", hint=f"Add region={region} to the address."
            )
        problem, hint = _PROBLEMS.get(
            code, (f"answers {answer.status} {code}".rstrip(), "Repeat it; or ask who runs it.")
        )
        raise StoreError(f"{address} {problem}.", hint=hint)


class _SignedAuth(httpx2.Auth):
    """Signs requests, each try anew."""

    requires_request_body = True

    def __init__(self, keys: AwsKeys, region: str) -> None:
        self._keys = keys
        self._region = region

    def auth_flow(
        self, request: httpx2.Request
    ) -> Generator[httpx2.Request, httpx2.Response, None]:
        moment = datetime.now(UTC)
        body_hash = sha256(request.content).hexdigest()
        signed = {
            "host": request.headers["host"],
            "x-amz-content-sha256": body_hash,
            "x-amz-date": write_time(moment),
        }
        if self._keys.token:
            signed["x-amz-security-token"] = self._keys.token
        path, _, query = request.url.raw_path.decode().partition("?")
        to_sign = RequestToSign(request.method, path, query, signed, body_hash)
        request.headers.update(signed)
        request.headers["authorization"] = sign(to_sign, self._keys, self._region, moment)
        yield request


def _check_endpoint(endpoint: str) -> None:
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
        raise InputError(f"The endpoint {endpoint!r} is no address of a server.", hint=_FORM)
    if parts.username is not None or parts.password is not None:
        raise InputError("An endpoint must not hold a password.", hint=_FORM)


def _locate(bucket: str, endpoint: str, region: str) -> str:
    """Return the address of a bucket: a path of the endpoint, or a host of AWS."""
    if endpoint:
        return f"{endpoint}/{bucket}"
    if "." in bucket:
        return f"https://s3.{region}.amazonaws.com/{bucket}"
    return f"https://{bucket}.s3.{region}.amazonaws.com"


def _compare_clocks(answer: WebAnswer) -> str:
    """Say by how much the clock of this machine differs from the server's."""
    try:
        server_time = parsedate_to_datetime(answer.headers.get("date", ""))
    except (ValueError, TypeError):
        return "wrong"
    minutes = round((datetime.now(UTC) - server_time).total_seconds() / 60)
    return f"{abs(minutes)} minutes {'fast' if minutes > 0 else 'slow'}"
