"""Frames of JSON on a Unix socket of one user.

Loaded by every quick command: only small modules of the standard library.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from typing import Any

PROTOCOL = 1
"""Version of the frames; both ends also have the same version of engrams."""

HEARTBEAT_SECONDS = 0.5
"""Seconds between the empty frames of a process that is still at work."""

MAX_BYTES = 64 << 20
"""Size of a frame."""
_LENGTH = struct.Struct(">I")
_PEER_CREDENTIALS = struct.Struct("3i")
"""Process, user and group at the other end (``struct ucred``)."""
_MAX_ADDRESS_BYTES = 100
"""Bytes of a path that fit a socket's address on every system."""


def is_supported() -> bool:
    """True where the system has Unix sockets."""
    return hasattr(socket, "AF_UNIX")


def open_socket(seconds: float | None = None) -> socket.socket:
    """Make a Unix socket with a timeout in seconds."""
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    link.settimeout(seconds)
    return link


def socket_address(folder: int, path: str) -> str:
    """Return the address of a socket file, however long its path.

    ``folder``: descriptor of its folder. OSError: the path is too long for this system.
    """
    if len(os.fsencode(path)) <= _MAX_ADDRESS_BYTES:
        return path
    if not os.path.isdir("/proc/self/fd"):
        raise OSError(f"the path {path} is too long for a socket")
    return f"/proc/self/fd/{folder}/{os.path.basename(path)}"


def send_frame(link: socket.socket, value: Any) -> None:
    """Send one JSON value; None: a heartbeat."""
    body = b"" if value is None else json.dumps(value).encode()
    link.sendall(_LENGTH.pack(len(body)) + body)


def receive_frame(link: socket.socket) -> Any:
    """Receive one JSON value; None: a heartbeat.

    OSError: the link ended or timed out. ValueError: it is no frame.
    """
    size = _LENGTH.unpack(_receive_bytes(link, _LENGTH.size))[0]
    if size > MAX_BYTES:
        raise ValueError("the frame is too large")
    return json.loads(_receive_bytes(link, size)) if size else None


def is_own_peer(link: socket.socket) -> bool:
    """Check the user at the other end, where the system tells."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True  # the folder is this user's alone
    credentials = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER_CREDENTIALS.size)
    _, user, _ = _PEER_CREDENTIALS.unpack(credentials)
    return bool(user == os.geteuid())


def is_own_folder(folder: int) -> bool:
    """Check that an open folder is this user's and closed to others."""
    status = os.fstat(folder)
    return status.st_uid == os.geteuid() and status.st_mode & 0o077 == 0


def _receive_bytes(link: socket.socket, size: int) -> bytes:
    received = bytearray()
    while len(received) < size:
        piece = link.recv(min(size - len(received), 1 << 20))
        if not piece:
            raise ConnectionError("the other end closed the link")
        received += piece
    return bytes(received)
