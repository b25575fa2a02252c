"""Web hooks of owners: kept beside memory, delivered by jobs."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from engrams.core import Json, Scope
from engrams.errors import ConflictError, InputError, NotFoundError
from engrams.frozen_data import dataclass
from engrams.ports import Clock, OwnerStateRow, Store

WebhookEvent = Literal["ADD", "UPDATE", "DELETE"]
EVENTS: tuple[WebhookEvent, ...] = get_args(WebhookEvent)
_REGISTRY = Scope(("system", "webhooks"))
_STATE = "webhooks"
_MOST = 20
_TRIES = 5


@dataclass(frozen=True, slots=True)
class Webhook:
    """Address that is told of an owner's changed memories.

    ``secret``: signs what is sent. ``after``: the number of the change after which it begins.
    """

    id: int
    owner: str
    url: str
    name: str
    events: tuple[WebhookEvent, ...]
    secret: str
    after: int
    created_at: str
    updated_at: str

    @property
    def key(self) -> str:
        """Return the key of its job."""
        return f"{self.owner}|{self.id}"


class WebhookRegistry:
    """Web hooks of all owners; each call but ``find_all`` concerns one owner."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def find_all(self) -> tuple[Webhook, ...]:
        """Return the web hooks of every owner, for their delivery."""
        return _read(self._store.load_state(_REGISTRY, _STATE))

    def list(self, owner: Scope) -> tuple[Webhook, ...]:
        """Return an owner's web hooks, oldest first."""
        return tuple(each for each in self.find_all() if each.owner == owner.key)

    def add(
        self, owner: Scope, url: str, name: str = "", events: Sequence[WebhookEvent] = EVENTS
    ) -> Webhook:
        """Register an address; it is told of what changes from now on.

        InputError: no address, or too many web hooks of this owner.
        """
        after = self._store.find_change(owner, 0)
        at = self._clock().isoformat()
        check_url(url)

        def put(row: OwnerStateRow) -> Webhook:
            known = _read(row)
            if sum(each.owner == owner.key for each in known) >= _MOST:
                raise InputError(f"There are {_MOST} web hooks already.", hint="Delete one first.")
            id = int(str(row.data.get("last", 0))) + 1
            return Webhook(
                id=id,
                owner=owner.key,
                url=url,
                name=name,
                events=tuple(events),
                secret=f"whsec_{secrets.token_urlsafe(24)}",
                after=after,
                created_at=at,
                updated_at=at,
            )

        return self._change(put, lambda known, new: (*known, new))

    def change(
        self,
        owner: Scope,
        id: int,
        url: str | None = None,
        name: str | None = None,
        events: Sequence[WebhookEvent] | None = None,
    ) -> Webhook:
        """Change a web hook; what was given up is tried again.

        NotFoundError: there is none of this owner.
        """
        given = {"url": url, "name": name, "events": None if events is None else tuple(events)}
        if url is not None:
            check_url(url)
        fields: dict[str, Any] = {
            field: value for field, value in given.items() if value is not None
        }

        def put(row: OwnerStateRow) -> Webhook:
            return replace(
                self._find(row, owner, id), **fields, updated_at=self._clock().isoformat()
            )

        changed = self._change(
            put, lambda known, new: tuple(new if each.id == id else each for each in known)
        )
        dead = [job.id for job in self._store.queue(("dead",), 1000) if job.key == changed.key]
        if dead:
            self._store.retry(dead, self._clock())
        return changed

    def remove(self, owner: Scope, id: int) -> Webhook:
        """Remove a web hook; what was not delivered yet is not.

        NotFoundError: there is none of this owner.
        """
        return self._change(
            lambda row: self._find(row, owner, id),
            lambda known, _: tuple(each for each in known if each.id != id),
        )

    def _find(self, row: OwnerStateRow, owner: Scope, id: int) -> Webhook:
        found = next(
            (each for each in _read(row) if each.id == id and each.owner == owner.key), None
        )
        if found is None:
            raise NotFoundError(
                f"There is no web hook {id} here.", hint="List those that there are."
            )
        return found

    def _change(
        self,
        make: Callable[[OwnerStateRow], Webhook],
        place: Callable[[tuple[Webhook, ...], Webhook], tuple[Webhook, ...]],
    ) -> Webhook:
        for _ in range(_TRIES):
            row = self._store.load_state(_REGISTRY, _STATE)
            new = make(row)
            hooks = place(_read(row), new)
            last = max(new.id, int(str(row.data.get("last", 0))))
            try:
                self._store.save_state(
                    replace(row, data={"last": last, "hooks": [_write(each) for each in hooks]}),
                    row.token,
                )
            except ConflictError:
                continue
            return new
        raise ConflictError("Somebody else changes web hooks all the time.", hint="Try again.")


def check_url(url: str) -> None:
    """Check a web hook's address.

    InputError: it is no http(s) address, or has a password.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts = urlsplit("")
        port = None
    plain = url.isascii() and url.isprintable() and " " not in url
    if (
        not plain
        or parts.scheme not in ("http", "https")
        or not parts.hostname
        or "@" in parts.netloc
        or port == 0
    ):
        raise InputError(
            f"{url!r:.100} is no address for a web hook.",
            hint=(
                "Give https://host/path, without a user, a password or a blank; other letters than"
                " English ones encoded."
            ),
        )


def _read(row: OwnerStateRow) -> tuple[Webhook, ...]:
    hooks = row.data.get("hooks", [])
    return (
        tuple(Webhook(**{**each, "events": tuple(each["events"])}) for each in hooks)
        if isinstance(hooks, list)
        else ()
    )


def _write(hook: Webhook) -> dict[str, Json]:
    return {**asdict(hook), "events": list(hook.events)}
