"""Open a place by its address."""

from __future__ import annotations

import re
from hashlib import blake2b
from pathlib import Path
from urllib.parse import urlsplit

from engrams.errors import InputError
from engrams.sync.places import FolderPlace, Place, PlaceAccess

_SSH_FORM = re.compile(r"[\w.-]+@[\w.-]+:(?!//).+")
"""The short form of git, such as ``git@host:path``."""
_GIT = frozenset({"ssh", "git+ssh", "git+http", "git+https", "git+file"})
_SERVER = frozenset({"engrams+http", "engrams+https"})
_WEBDAV = frozenset({"webdav", "webdavs", "dav", "davs"})
_S3 = "s3"
_FORMS = (
    "a folder, git+https://…, ssh://…, git@host:path, engrams+https://…, webdavs://HOST/PATH, or"
    " s3://BUCKET/PREFIX"
)


def open_place(address: str, access: PlaceAccess, caches: Path) -> Place:
    """Open a place.

    ``caches``: folder for copies of places. InputError: engrams knows no place of this form.
    """
    if "://" in address and urlsplit(address).password is not None:
        raise InputError(
            "The address of a place must not hold a password.",
            hint="Give it by ENGRAMS_SYNC_PASSWORD, and the name by --login.",
        )
    scheme = address.partition("://")[0].lower() if "://" in address else ""
    if scheme in _GIT or (not scheme and _SSH_FORM.fullmatch(address)):
        return _open_git(address, access, caches)
    if scheme in ("http", "https") and urlsplit(address).path.endswith(".git"):
        return _open_git(f"git+{address}", access, caches)
    if scheme in _SERVER:
        from engrams.sync.server_place import ServerPlace

        return ServerPlace(address, access)
    if scheme in _WEBDAV:
        from engrams.sync.webdav_place import WebDavPlace

        return WebDavPlace(address, access)
    if scheme == _S3:
        from engrams.sync.s3_place import S3Place

        return S3Place(address, access)
    if scheme not in ("", "file"):
        raise InputError(
            f"engrams cannot use {address!r} as a place.", hint=f"A place is {_FORMS}."
        )
    folder = Path(address.removeprefix("file://")).expanduser().absolute()
    if (folder / "HEAD").is_file() and (folder / "objects").is_dir():
        return _open_git(f"git+file://{folder}", access, caches)
    return FolderPlace(folder)


def needs_password(address: str) -> bool:
    """Return True for a place that nobody uses without a password or a key."""
    return address.partition("://")[0].lower() in _SERVER


def _open_git(address: str, access: PlaceAccess, caches: Path) -> Place:
    from engrams.sync.git_place import GitPlace

    name = blake2b(address.encode(), digest_size=8).hexdigest()
    return GitPlace(address, access, caches / f"git-{name}")
