"""A mail server for tests, which speaks the part of IMAP that a reader needs, and notes what it is told."""

from __future__ import annotations

import re
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

_USER = "ann@ror.example"
_PASSWORD = "a word"


@dataclass
class Mailbox:
    """The INBOX of a server."""

    port: int = 0
    validity: int = 7
    messages: dict[int, bytes] = field(default_factory=dict)
    """Messages by their numbers."""
    commands: list[str] = field(default_factory=list)
    """Commands that came, without the password."""
    breaks_after: int = 0
    """Messages that are sent before the connection breaks; 0: it does not."""

    @property
    def url(self) -> str:
        return f"imap://{_USER.replace('@', '%40')}@127.0.0.1:{self.port}/INBOX"


@contextmanager
def serve_mailbox() -> Iterator[Mailbox]:
    """Serve a mailbox on this machine."""
    box = Mailbox()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            _Session(self, box).run()

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        box.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield box
        server.shutdown()


class _Session:
    """One connection."""

    def __init__(self, handler: socketserver.StreamRequestHandler, box: Mailbox) -> None:
        self._handler = handler
        self._box = box
        self._sent = 0

    def run(self) -> None:
        self._say("* OK ready")
        for line in self._handler.rfile:
            tag, _, words = line.decode().strip().partition(" ")
            command = words.partition(" ")[0].upper()
            self._box.commands.append(words if command != "LOGIN" else "LOGIN")
            if not self._answer(tag, command, words):
                return

    def _answer(self, tag: str, command: str, words: str) -> bool:
        """Answer a command; False: the connection ends."""
        end = "OK done"
        match command:
            case "CAPABILITY":
                self._say("* CAPABILITY IMAP4rev1")
            case "LOGIN" if words != f'LOGIN {_USER} "{_PASSWORD}"':
                end = "NO wrong password"
            case "EXAMINE" if '"INBOX"' in words:
                self._say(f"* {len(self._box.messages)} EXISTS")
                self._say(f"* OK [UIDVALIDITY {self._box.validity}] valid")
            case "EXAMINE":
                end = "NO no such folder"
            case "FETCH":
                for number, (uid, message) in enumerate(sorted(self._box.messages.items()), 1):
                    self._say(f"* {number} FETCH (UID {uid} RFC822.SIZE {len(message)})")
            case "UID":
                return self._send(tag, words)
            case "LOGOUT":
                self._say("* BYE")
        self._say(f"{tag} {end}")
        return command != "LOGOUT"

    def _send(self, tag: str, words: str) -> bool:
        match = re.fullmatch(r"UID FETCH ([\d,]+) \((BODY\.PEEK\[.*\])\)", words)
        assert match is not None, words
        for uid in map(int, match[1].split(",")):
            message = self._box.messages.get(uid)
            if message is None:
                continue
            is_header = "HEADER" in match[2]
            if not is_header:
                self._sent += 1
                if self._box.breaks_after and self._sent > self._box.breaks_after:
                    return False
            text = self._pick_subject(message) if is_header else message
            section = match[2].replace(".PEEK", "")
            # A server may put the number before the text or behind it.
            before, after = (f"UID {uid} ", "") if uid % 2 else ("", f" UID {uid}")
            self._say(f"* {uid} FETCH ({before}{section} {{{len(text)}}}")
            self._handler.wfile.write(text)
            self._say(f"{after})")
        self._say(f"{tag} OK done")
        return True

    @staticmethod
    def _pick_subject(message: bytes) -> bytes:
        lines = message.split(b"\r\n")
        return next((line for line in lines if line.startswith(b"Subject:")), b"") + b"\r\n\r\n"

    def _say(self, line: str) -> None:
        self._handler.wfile.write(f"{line}\r\n".encode())
