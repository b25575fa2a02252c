"""A folder of a WebDAV server as a place: Nextcloud, ownCloud, a NAS, Apache.

Nobody sees half a file: it is put under another name, and moved. A server that cannot move gets it put
straight away; readers check that a file is whole.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Iterator, Mapping
from urllib.parse import quote, unquote, urlsplit

import httpx2

from engrams.errors import InputError, StoreError
from engrams.models.http_client import is_local
from engrams.sync.places import PlaceAccess, PlaceFile
from engrams.sync.web_client import WebAnswer, WebClient
from engrams.transfer.documents.packages import iter_named, parse_xml

_PLAIN = "webdav"
_SECURE = "webdavs"
_SCHEMES = {_PLAIN: _PLAIN, "dav": _PLAIN, _SECURE: _SECURE, "davs": _SECURE}
"""Beginning of an address -> how engrams writes it."""
_FOLDER = "devices"
_MEMBER = re.compile("[0-9a-f]{20}")
_QUESTION = b'<?xml version="1.0"?><propfind xmlns="DAV:"><prop><resourcetype/></prop></propfind>'
_MULTI_STATUS = 207
_NO_FOLDER = frozenset({404, 409})
"""Statuses of a PUT or MKCOL whose folder is not there."""
_CANNOT_MOVE = frozenset({400, 405, 501, 502})
"""Statuses of servers, and of proxies before them, that know no MOVE, or not by the address outside."""
_HINTS = {
    401: "Give your name by --login, and the password when asked. Some servers want one made for an app.",
    403: "The login needs the rights to list, read, write, move and delete files in this folder.",
    405: "See whether the address is that of WebDAV, which many servers have at a path of its own.",
    413: "The server takes no files of this size: raise its limit.",
    423: "Somebody locked a file there: repeat it.",
    507: "The server has no room left for this login.",
}
"""By status."""


class WebDavPlace:
    """A folder on a server, such as ``webdavs://cloud.example.org/remote.php/dav/files/ann/memory``."""

    remains = "The WebDAV server may keep replaced files, sealed, among its versions or in its bin."

    def __init__(self, address: str, access: PlaceAccess) -> None:
        """Set the place up. InputError: the password would be sent in the open."""
        parts = urlsplit(address)
        scheme = _SCHEMES[parts.scheme]
        host = parts.netloc.rpartition("@")[2]
        if scheme == _PLAIN and not is_local(host):
            raise InputError(
                f"{_PLAIN}:// would send the password in the open.",
                hint=f"Use {_SECURE}://{host}{parts.path}.",
            )
        if not host or parts.query or parts.fragment:
            raise InputError(
                f"engrams cannot use {address!r} as a place.",
                hint=f"A WebDAV place is {_SECURE}://HOST/PATH, without ? and #.",
            )
        path = "/" + unquote(parts.path).strip("/")
        self.address = f"{scheme}://{host}{path}"
        self._host_url = f"{'https' if scheme == _SECURE else 'http'}://{host}"
        self._path = quote(path).rstrip("/")
        self._url = self._host_url + self._path
        user = access.user or unquote(parts.username or "")
        self._client = WebClient(
            self.address, self._host_url, auth=_LoginAuth(user, access.password) if user else None
        )
        self._has_login = bool(user)
        self._can_move = True

    def prepare(self) -> None:
        """Make the folder, with those above it."""
        if self._ask("").status == httpx2.codes.NOT_FOUND:
            self._make_folder(self._path)

    def list(self) -> frozenset[PlaceFile]:
        answer = self._ask(f"/{_FOLDER}/")
        if answer.status == httpx2.codes.NOT_FOUND:
            self._require_folder()
            return frozenset()
        members = {name for name in self._iter_names(answer) if _MEMBER.fullmatch(name)}
        return frozenset(file for member in members for file in self._iter_files(member))

    def _iter_files(self, member: str) -> Iterator[PlaceFile]:
        answer = self._ask(f"/{_FOLDER}/{member}/")
        if answer.status == httpx2.codes.NOT_FOUND:
            return
        for name in self._iter_names(answer):
            file = PlaceFile.parse(f"{member}/{name}")
            if file is not None:
                yield file

    def read(self, file: PlaceFile) -> bytes | None:
        answer = self._client.request("GET", f"{self._url}/{file.path}")
        if answer.status == httpx2.codes.NOT_FOUND:
            return None
        return self._check(answer).body

    def write(self, files: Mapping[PlaceFile, bytes]) -> None:
        for file, data in files.items():
            self._write(file, data)

    def remove(self, files: Collection[PlaceFile]) -> None:
        for file in files:
            answer = self._client.request("DELETE", f"{self._url}/{file.path}")
            if answer.status != httpx2.codes.NOT_FOUND:
                self._check(answer)

    def _write(self, file: PlaceFile, data: bytes) -> None:
        if self._can_move:
            # The same name each time: what a device left that died is replaced by its next try.
            fresh = f"/{file.path}.new"
            self._put(fresh, data)
            target = f"{self._url}/{file.path}"
            headers = {"destination": target, "overwrite": "T"}
            moved = self._client.request("MOVE", self._url + fresh, headers=headers)
            # An answer that got lost: the file is moved already.
            is_there = moved.status == httpx2.codes.NOT_FOUND and self.read(file) == data
            if moved.is_good or is_there:
                return
            if moved.status not in _CANNOT_MOVE:
                self._check(moved)
            self._can_move = False
            self._client.request("DELETE", self._url + fresh)
        self._put(f"/{file.path}", data)

    def _put(self, path: str, data: bytes) -> None:
        answer = self._client.request("PUT", self._url + path, data)
        if answer.status in _NO_FOLDER:
            self._require_folder()
            self._make_folder(self._path + path.rpartition("/")[0])
            answer = self._client.request("PUT", self._url + path, data)
        self._check(answer)

    def _make_folder(self, path: str) -> None:
        """Make a folder by its path on the server, with those above it that are not there."""
        answer = self._client.request("MKCOL", f"{self._host_url}{path}/")
        above = path.rpartition("/")[0]
        if answer.status in _NO_FOLDER and above:
            self._make_folder(above)
            answer = self._client.request("MKCOL", f"{self._host_url}{path}/")
        if answer.status != httpx2.codes.METHOD_NOT_ALLOWED:  # it is there
            self._check(answer)

    def _require_folder(self) -> None:
        if self._ask("").status == httpx2.codes.NOT_FOUND:
            raise StoreError(
                f"The place {self.address} is not there.",
                hint="Correct the address, or make the folder on the server.",
            )

    def _ask(self, path: str) -> WebAnswer:
        """List a folder; the answer may say that there is none."""
        answer = self._client.request(
            "PROPFIND",
            self._url + (path or "/"),
            _QUESTION,
            {"depth": "1" if path else "0", "content-type": "application/xml"},
        )
        if answer.status == httpx2.codes.NOT_FOUND:
            return answer
        self._check(answer)
        if answer.status != _MULTI_STATUS:
            raise self._refuse_server()
        return answer

    def _iter_names(self, answer: WebAnswer) -> Iterator[str]:
        """Yield the names of what a folder holds, and its own."""
        try:
            root = parse_xml(answer.body)
        except InputError:
            raise self._refuse_server() from None
        for href in iter_named(root, "href"):
            yield unquote((href.text or "").strip()).rstrip("/").rpartition("/")[2]

    def _check(self, answer: WebAnswer) -> WebAnswer:
        """Return an answer that says yes. StoreError: what it says, and what to do."""
        if answer.is_good:
            return answer
        if answer.status == httpx2.codes.UNAUTHORIZED:
            problem = "does not take the name and password" if self._has_login else "wants a login"
        elif answer.status == httpx2.codes.FORBIDDEN:
            problem = "forbids this"
        elif 300 <= answer.status < 400:
            elsewhere = answer.headers.get("location", "")[:200]
            raise StoreError(
                f"{self.address} sends to {elsewhere}.",
                hint="Use the address that it names, if you trust it.",
            )
        else:
            problem = f"answers {answer.status}"
        raise StoreError(
            f"{self.address} {problem}.",
            hint=_HINTS.get(answer.status, "See the log of the server, and repeat it."),
        )

    def _refuse_server(self) -> StoreError:
        return StoreError(
            f"{self.address} does not answer as WebDAV does.",
            hint="See whether the address is that of WebDAV, which many servers have at a path of its own.",
        )


class _LoginAuth(httpx2.Auth):
    """Sends name and password; by a digest where the server wants that alone."""

    requires_request_body = True

    def __init__(self, user: str, password: str) -> None:
        self._basic = httpx2.BasicAuth(user.encode(), password.encode())
        self._digest = httpx2.DigestAuth(user.encode(), password.encode())
        self._wants_digest = False

    def auth_flow(
        self, request: httpx2.Request
    ) -> Generator[httpx2.Request, httpx2.Response, None]:
        if not self._wants_digest:
            response = yield next(self._basic.auth_flow(request))
            challenges = response.headers.get_list("www-authenticate")
            kinds = {challenge.split(" ")[0].lower() for challenge in challenges}
            if response.status_code != httpx2.codes.UNAUTHORIZED or kinds != {"digest"}:
                return
            self._wants_digest = True
            del request.headers["authorization"]
        yield from self._digest.auth_flow(request)
