"""What a request asks of memory, worked out before anything is looked up or sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from engrams.errors import ScopeError
from engrams.settings import Settings
from engrams.surfaces.proxy.body import PROMPT, Envelope, attachments, read, text_of
from engrams.surfaces.proxy.dialect import CHAT, Dialect
from engrams.surfaces.proxy.identity import Caller, identify, turn_id
from engrams.surfaces.proxy.tasks import is_chore
from engrams.surfaces.proxy.threads import Threads
from engrams.types import Json, Turn


@dataclass(frozen=True, slots=True)
class Asked:
    """One request. ``caller`` None: memory stays out of it, for the reason ``skip``; otherwise its turns are kept."""

    raw: bytes
    envelope: Envelope | None
    caller: Caller | None
    skip: str
    said: Turn | None = None
    dialect: Dialect = CHAT
    threads: Threads | None = None

    @property
    def fields(self) -> Mapping[str, Json]:
        return self.envelope.fields if self.envelope else {}

    @property
    def streams(self) -> bool:
        return self.dialect.streams(self.fields)

    @property
    def model(self) -> str:
        model = self.fields.get("model")
        return model if isinstance(model, str) else ""

    def body(self, memory: str = "") -> bytes:
        """What goes upstream: the request as it came, without our fields, with ``memory`` where there is some."""
        return self.envelope.forward(memory) if self.envelope else self.raw

    def said_here(self, text: str) -> bool:
        """Whether a message of this very request holds the text: no need to recall it."""
        messages = self.envelope.messages if self.envelope else ()
        return any(text in text_of(message.get("content")) for message in messages if isinstance(message, dict))

    def answered(self, id: str) -> None:
        """The answer's own id, by which the next request of the conversation may name it."""
        if id and self.threads is not None and self.caller is not None:
            self.threads.note(id, self.caller.session)

    def reply(self, text: str, partial: bool = False) -> Turn:
        """The answer as a turn; ``partial``: it broke off."""
        assert self.envelope is not None
        assert self.caller is not None
        meta: dict[str, Json] = {"model": self.model} if self.model else {}
        place = len(self.envelope.messages)
        return Turn(
            text=text,
            role="assistant",
            session=self.caller.session,
            external_id=turn_id(self.caller, self.envelope, place, text),
            meta={**meta, "partial": True} if partial else meta,
        )


def understand(
    headers: Mapping[str, str], raw: bytes, settings: Settings, dialect: Dialect = CHAT, threads: Threads | None = None
) -> Asked:
    """Never raises: a request that memory cannot make sense of goes upstream as it is."""
    envelope = read(raw, dialect.shape)
    if envelope is None:
        return Asked(raw, None, None, "request", dialect=dialect)
    try:
        caller = identify(headers, envelope, settings)
    except ScopeError:
        return Asked(raw, envelope, None, "identity", dialect=dialect)
    if caller.silence:
        return Asked(raw, envelope, None, caller.silence, dialect=dialect)
    if is_chore(headers, envelope) or _is_filling(envelope):
        return Asked(raw, envelope, None, "task", dialect=dialect)
    if threads is not None and envelope.thread and caller.session == envelope.thread:
        session = threads.session(envelope.thread)
        caller = replace(caller, session=session, message=caller.message or threads.latest(session))
    said = _said(caller, envelope)
    skip = "" if said else "no_question"
    return Asked(raw, envelope, caller, skip if caller.top_k else "top_k", said, dialect, threads)


def _is_filling(envelope: Envelope) -> bool:
    """Completion of a text or of code, which nobody says to anybody."""
    return envelope.shape is PROMPT and bool(envelope.fields.get("raw") or envelope.fields.get("suffix"))


def _said(caller: Caller, envelope: Envelope) -> Turn | None:
    """The last user message: the only new one, since a client sends the whole history each time."""
    place = envelope.last_user
    if place < 0:
        return None
    message = envelope.messages[place]
    text = text_of(message.get("content"))
    if not text.strip():
        return None
    kinds = attachments(message.get("content"))
    name = message.get("name")
    return Turn(
        text=text,
        speaker=name if isinstance(name, str) else "",
        session=caller.session,
        external_id=turn_id(caller, envelope, place, text),
        meta={"attachments": list(kinds)} if kinds else {},
    )
