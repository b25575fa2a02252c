"""Name of the project that a folder belongs to.

``resolve_project`` is the way in. A repository is one project, whatever its clone, worktree or
folder is called: its common Git directory and its remotes tell it apart. Names are kept in
``projects.json`` in the home, so that a name once given stays.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from engrams.errors import InputError
from engrams.frozen_data import dataclass

_FILE = "projects.json"
_SECTION = re.compile(r"\[\s*([\w.-]+)(?:\s+\"(.*)\")?\s*\]")
_SCP = re.compile(r"(?:[\w.-]+@)?([\w.-]+):(?!//)(.+)")
_URL = re.compile(r"\w+://(?:[^/@]*@)?([^/:]+)(?::\d+)?/(.+)")
_PATH = re.compile(r"\.{1,2}(?:/|$)|/|~/")
"""Beginning of a project's name that is a path."""
_MAX_ALIASES = 50
_PARTS_WITH_BIRTH = 3
"""Parts of the mark of a folder whose birth is known."""
_AT_FDCWD = -100
_STATX_BTIME = 0x800
_STATX_BYTES = 256
_BTIME_OFFSET = 80
"""Place of the birth in what the call ``statx`` of Linux writes."""


@dataclass(frozen=True, slots=True)
class ProjectIdentity:
    """Marks of a folder's project that stay when it is moved, cloned or checked out again."""

    title: str
    """Name that a reader expects: the repository's, else the folder's."""
    folder: str
    """Common Git directory, else the folder itself, as an absolute path."""
    root_name: str
    """Name of the checkout's folder, which a worktree may have of its own."""
    remotes: tuple[str, ...] = ()
    """Addresses ``host/owner/name`` of its remotes, ``origin`` first."""
    inode: str = ""
    """Device, inode and birth of ``folder``, which a renaming keeps; empty where unknown."""
    chosen: str = ""
    """Name that ``git config engrams.project NAME`` gave; empty for none."""


def resolve_project(name: str, folder: Path | str, home: Path | str | None = None) -> str:
    """Resolve a path (``.``, ``../web``) to the name of the project that this folder belongs to.

    That is the project of its Git repository, else the folder itself. A Git root that is the
    user's home is ignored. A name that is no path stays as it is. Empty: the folder has no name.
    ``folder``: what a path starts from. ``home``: engrams' home, in which names are kept; without
    one the folder's own name is used. InputError: there is no such folder.
    """
    meant = find_named_folder(name, folder)
    if meant is None:
        return name
    folder = meant
    if not folder.is_absolute():
        return folder.name
    identity = identify_project(folder)
    if identity.chosen or home is None or not identity.title:
        return identity.chosen or identity.title
    return ProjectNames(Path(home).expanduser()).name(identity)


def find_named_folder(name: str, folder: Path | str) -> Path | None:
    """Find the folder that a project's name means, if it is a path; None: it is none.

    InputError: there is no such folder.
    """
    if name == ".":
        return Path(folder)
    if not _PATH.match(name):
        return None
    path = Path(os.path.normpath(Path(folder) / os.path.expanduser(name)))  # noqa: PTH111 - Path fails for a user without a home
    if not path.is_dir():
        raise InputError(
            f"There is no folder {path}.",
            hint="Give a folder that exists, or a project's name without / at its beginning.",
        )
    return path


def find_project_folder(name: str, home: Path | str) -> Path | None:
    """Find the main checkout of a project that a home knows; None: it is unknown or gone."""
    for project in ProjectNames(Path(home).expanduser()).read_all():
        if project.get("name") == name:
            folder = Path(str(project.get("folder", "")))
            checkout = folder.parent if folder.name == ".git" else folder
            return checkout if _exists(str(checkout)) else None
    return None


def identify_project(folder: Path) -> ProjectIdentity:
    """Read the marks of a folder's project from its Git repository; no git command is run.

    A link is the folder that it leads to, as it is to git.
    """
    folder = Path(os.path.realpath(folder))
    root = find_root(folder)
    if root is not None:
        return _identify_repository(root)
    return ProjectIdentity(folder.name, str(folder), folder.name, inode=_inode(folder))


def find_root(folder: Path) -> Path | None:
    """Find the checkout that a folder is in; None: there is no repository.

    A Git root that is the user's home is ignored.
    """
    user_home = os.path.expanduser("~")  # noqa: PTH111 - Path fails for a user without a home
    user_homes = (user_home, os.path.realpath(user_home))
    for parent in (folder, *folder.parents):
        if parent.name and str(parent) not in user_homes and os.path.exists(parent / ".git"):  # noqa: PTH110 - Path fails at a closed folder
            return parent
    return None


def _identify_repository(root: Path) -> ProjectIdentity:
    _, common = find_git_directories(root)
    config = list(_read_config(common / "config"))
    urls = [
        (section, value)
        for section, key, value in config
        if key == "url" and section[0] == "remote"
    ]
    urls.sort(
        key=lambda remote: (remote[0][1] != "origin", remote[0][1] != "upstream", remote[0][1])
    )
    remotes = tuple(dict.fromkeys(_normalise_url(url, root) for _, url in urls))
    chosen = [
        value for section, key, value in config if section[0] == "engrams" and key == "project"
    ]
    checkout = common.parent if common.name == ".git" else root
    title = remotes[0].rsplit("/", 1)[-1] if remotes else checkout.name
    return ProjectIdentity(
        title=title,
        folder=str(common),
        root_name=root.name,
        remotes=remotes,
        inode=_inode(common),
        chosen=chosen[-1] if chosen else "",
    )


def find_git_directories(root: Path) -> tuple[Path, Path]:
    """Return the Git directory of a checkout, and the one that all its worktrees share."""
    marker = root / ".git"
    if not marker.is_file():
        return marker, marker
    text = _read_text(marker)
    if not text.startswith("gitdir:"):
        return marker, marker
    directory = (root / text.removeprefix("gitdir:").strip()).resolve()
    shared = _read_text(directory / "commondir").strip()
    return directory, (directory / shared).resolve() if shared else directory


def read_hooks_path(common: Path) -> str:
    """Read where a repository has its hooks; empty: in its Git directory."""
    paths = [
        value
        for section, key, value in _read_config(common / "config")
        if section == ("core", "") and key == "hookspath"
    ]
    return paths[-1] if paths else ""


def _read_config(path: Path) -> Iterator[tuple[tuple[str, str], str, str]]:
    """Yield ((section, subsection), key, value) of a Git configuration file."""
    section = ("", "")
    for line in _read_text(path).splitlines():
        text = line.strip()
        if match := _SECTION.match(text):
            section = (match[1].lower(), match[2] or "")
        elif "=" in text and not text.startswith(("#", ";")):
            key, _, value = text.partition("=")
            yield section, key.strip().lower(), value.strip().strip('"')


def _normalise_url(url: str, root: Path) -> str:
    """Write an address as ``host/owner/name``: over https or ssh it is one repository."""
    match = _URL.fullmatch(url) or (None if url.startswith(("/", ".")) else _SCP.fullmatch(url))
    if match is not None:
        return f"{match[1].lower()}/{match[2].strip('/').removesuffix('.git').strip('/')}"
    path = (root / url.removeprefix("file://")).resolve()
    return str(path).removesuffix("/.git").removesuffix(".git")


def _inode(folder: Path) -> str:
    try:
        status = folder.stat()
    except (OSError, ValueError):
        return ""
    birth = _read_birth(folder, status)
    return f"{status.st_dev}:{status.st_ino}{birth and f':{birth}'}"


def _read_birth(folder: Path, status: os.stat_result) -> str:
    """Read the time at which a folder was made; empty where its file system does not tell."""
    birth_time = getattr(status, "st_birthtime", None)
    if birth_time is not None:
        return str(birth_time)
    statx = _load_statx()
    buffer = bytearray(_STATX_BYTES)
    if statx is None or statx(os.fsencode(folder), buffer) != 0:
        return ""
    (mask,) = struct.unpack_from("=I", buffer, 0)
    birth = struct.unpack_from("=qI", buffer, _BTIME_OFFSET)
    return "{}.{:09}".format(*birth) if mask & _STATX_BTIME else ""


@cache
def _load_statx() -> Callable[[bytes, bytearray], int] | None:
    """Load the call of Linux that tells a birth; Python makes it itself from 3.15 on."""
    if os.name != "posix":
        return None
    import ctypes

    statx = getattr(ctypes.CDLL(None), "statx", None)
    if statx is None:
        return None
    buffer_type = ctypes.c_char * _STATX_BYTES

    def read_birth(path: bytes, buffer: bytearray) -> int:
        """Fill the buffer; return 0, or -1 where it failed."""
        status: int = statx(_AT_FDCWD, path, 0, _STATX_BTIME, buffer_type.from_buffer(buffer))
        return status

    return read_birth


def _is_same_inode(inode: str, known_inode: str) -> bool:
    """True for the marks of one folder.

    A removed folder's number is given to the next one, which has another birth; the number of a
    device may change when the machine starts.
    """
    parts = inode.split(":")
    known_parts = known_inode.split(":")
    if len(parts) == len(known_parts) == _PARTS_WITH_BIRTH:
        return parts[1:] == known_parts[1:]
    return parts[:2] == known_parts[:2]


def _read_text(path: Path) -> str:
    try:
        return path.read_text("utf-8", errors="replace")
    except (OSError, ValueError):
        return ""


class ProjectNames:
    """Names of the projects of one home, kept in its ``projects.json``.

    A project that is not known yet gets the name of its repository; if another project has that
    name, the owner of the remote or a digest goes with it.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        self._path = home / _FILE

    def read_all(self) -> list[dict[str, Any]]:
        """Read the projects: name, remotes, folder, inode and the names that folders had."""
        try:
            projects = json.loads(self._path.read_text("utf-8")).get("projects")
        except (OSError, ValueError, AttributeError):
            return []
        return (
            [project for project in projects if isinstance(project, dict)]
            if isinstance(projects, list)
            else []
        )

    def name(self, identity: ProjectIdentity) -> str:
        """Return the project's name, and keep it where the home exists."""
        projects = self.read_all()
        project = _find_project(projects, identity)
        before = json.dumps(project)
        if project is None:
            names = {str(project.get("name")) for project in projects}
            project = {"name": _choose_name(identity, names)}
            projects.append(project)
        folder = str(project.get("folder", ""))
        if folder == identity.folder or _is_moved(project, folder):
            project |= {"folder": identity.folder, "inode": identity.inode}
        project["remotes"] = list(dict.fromkeys([*identity.remotes, *project.get("remotes", ())]))
        aliases = [*project.get("aliases", ()), identity.root_name]
        name = str(project["name"])
        project["aliases"] = [alias for alias in dict.fromkeys(aliases) if alias != name][
            -_MAX_ALIASES:
        ]
        if json.dumps(project) != before:
            self._write(projects)
        return name

    def _write(self, projects: list[dict[str, Any]]) -> None:
        """Write the names. A home that does not exist yet or is closed keeps none: they are found
        again at the next call.
        """
        if not self._home.is_dir():
            return
        temporary = self._path.with_name(f".{_FILE}.{os.getpid()}")
        try:
            temporary.write_text(json.dumps({"projects": projects}, indent=1), "utf-8")
            temporary.replace(self._path)
        except OSError:
            temporary.unlink(missing_ok=True)


def _find_project(
    projects: list[dict[str, Any]], identity: ProjectIdentity
) -> dict[str, Any] | None:
    """Find a project by a remote that it shares, else by its folder, else by the folder's inode.

    A clone of a folder has that folder as its remote. A folder in which another repository was
    made meanwhile is not the one that was known: that one was moved.
    """
    own_folder = identity.folder.removesuffix("/.git")
    for project in projects:
        if set(identity.remotes) & set(project.get("remotes", ())):
            return project
    for project in projects:
        inode = str(project.get("inode", ""))
        is_known_inode = "" not in (inode, identity.inode)
        if is_known_inode and _is_same_inode(inode, identity.inode):
            return project
        folder = str(project.get("folder", ""))
        bare_folder = folder.removesuffix("/.git")
        is_replaced = folder == identity.folder and is_known_inode
        is_clone = bare_folder in identity.remotes or own_folder in project.get("remotes", ())
        if bare_folder and (is_clone or (bare_folder == own_folder and not is_replaced)):
            return project
    return None


def _is_moved(project: dict[str, Any], folder: str) -> bool:
    """True if a project's folder is gone, or another one stands in its place."""
    inode = str(project.get("inode", ""))
    return not (folder and _exists(folder)) or (
        inode != "" and not _is_same_inode(inode, _inode(Path(folder)))
    )


def _choose_name(identity: ProjectIdentity, names: set[str]) -> str:
    """Choose a name that no other project has."""
    if identity.title not in names:
        return identity.title
    mark = identity.remotes[0] if identity.remotes else identity.folder
    digest = hashlib.blake2b(mark.encode("utf-8", "surrogatepass"), digest_size=3).hexdigest()
    owner = mark.rsplit("/", 2)[-2] if identity.remotes and mark.count("/") >= 2 else ""
    for name in (f"{owner}-{identity.title}" if owner else "", f"{identity.title}-{digest}"):
        if name and name not in names:
            return name
    return f"{identity.title}-{digest}-{len(names)}"


def _exists(folder: str) -> bool:
    return os.path.exists(folder)  # noqa: PTH110 - Path fails at a closed folder
