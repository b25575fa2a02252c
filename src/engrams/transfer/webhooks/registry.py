"""Web hooks of owners: addresses that are told of changed memories.

``WebhookRegistry`` is the entry. All web hooks stand in one state of the store, which jobs on any
machine read to deliver them.
"""

from __future__ import annotations

import secrets
from base64 import b64encode
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
"""Owner of the state that lists the web hooks of all owners."""
_STATE = "webhooks"
_MAX_HOOKS = 20
"""Web hooks of one owner."""
_TRIES = 5
"""Attempts to save the list while others save it too."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """Address that is told of an owner's changed memories."""

    id: int
    """Number among the web hooks of all owners; never used again."""
    owner: str
    """Key of the owner's scope."""
    url: str
    name: str
    events: tuple[WebhookEvent, ...]
    """Events that it is told of; of others it hears nothing."""
    secret: str
    """Key that signs each message (Standard Webhooks: ``whsec_…``)."""
    after: int
    """Number of the change after which it begins."""
    created_at: str
    """Time in ISO 8601, as is ``updated_at``."""
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
        return _decode_hooks(self._store.load_state(_REGISTRY, _STATE))

    def list(self, owner: Scope) -> tuple[Webhook, ...]:
        """Return an owner's web hooks, oldest first."""
        return tuple(hook for hook in self.find_all() if hook.owner == owner.key)

    def add(
        self, owner: Scope, url: str, name: str = "", events: Sequence[WebhookEvent] = EVENTS
    ) -> Webhook:
        """Register an address; it is told of what changes from now on.

        InputError: no address, or too many web hooks of this owner.
        """
        last_change = self._store.find_change(owner, 0)
        now = self._clock().isoformat()
        check_url(url)

        def add_hook(hooks: tuple[Webhook, ...], last_id: int) -> tuple[Webhook, ...]:
            if sum(hook.owner == owner.key for hook in hooks) >= _MAX_HOOKS:
                raise InputError(
                    f"There are {_MAX_HOOKS} web hooks already.", hint="Delete one first."
                )
            hook = Webhook(
                id=last_id + 1,
                owner=owner.key,
                url=url,
                name=name,
                events=tuple(events),
                secret=f"whsec_{b64encode(secrets.token_bytes(24)).decode()}",
                after=last_change,
                created_at=now,
                updated_at=now,
            )
            return (*hooks, hook)

        return self._update(add_hook)[-1]

    def change(
        self,
        owner: Scope,
        id: int,
        url: str | None = None,
        name: str | None = None,
        events: Sequence[WebhookEvent] | None = None,
    ) -> Webhook:
        """Change a web hook; messages that were given up are tried again.

        NotFoundError: there is none of this owner.
        """
        fields: dict[str, Any] = {"updated_at": self._clock().isoformat()}
        if url is not None:
            check_url(url)
            fields["url"] = url
        if name is not None:
            fields["name"] = name
        if events is not None:
            fields["events"] = tuple(events)

        def change_hook(hooks: tuple[Webhook, ...], _: int) -> tuple[Webhook, ...]:
            changed = replace(_find_hook(hooks, owner, id), **fields)
            return tuple(changed if hook.id == id else hook for hook in hooks)

        hook = _find_hook(self._update(change_hook), owner, id)
        dead_ids = [job.id for job in self._store.queue(("dead",), 1000) if job.key == hook.key]
        if dead_ids:
            self._store.retry(dead_ids, self._clock())
        return hook

    def remove(self, owner: Scope, id: int) -> Webhook:
        """Remove a web hook; changes that were not delivered yet are not.

        NotFoundError: there is none of this owner.
        """
        removed = _find_hook(self.find_all(), owner, id)

        def remove_hook(hooks: tuple[Webhook, ...], _: int) -> tuple[Webhook, ...]:
            _find_hook(hooks, owner, id)
            return tuple(hook for hook in hooks if hook.id != id)

        self._update(remove_hook)
        return removed

    def _update(
        self, change: Callable[[tuple[Webhook, ...], int], tuple[Webhook, ...]]
    ) -> tuple[Webhook, ...]:
        """Save the list that ``change`` makes of the current one, and return it.

        ``change`` takes the web hooks and the highest id given so far. It is called again where
        somebody else saved the list meanwhile. ConflictError: they did so all the time.
        """
        for _ in range(_TRIES):
            row = self._store.load_state(_REGISTRY, _STATE)
            last_id = int(str(row.data.get("last", 0)))
            hooks = change(_decode_hooks(row), last_id)
            last_id = max(last_id, *(hook.id for hook in hooks), 0)
            data: dict[str, Json] = {
                "last": last_id,
                "hooks": [_encode_hook(hook) for hook in hooks],
            }
            try:
                self._store.save_state(replace(row, data=data), row.token)
            except ConflictError:
                continue
            return hooks
        raise ConflictError("Other requests keep changing the web hooks.", hint="Try again.")


def _find_hook(hooks: Sequence[Webhook], owner: Scope, id: int) -> Webhook:
    for hook in hooks:
        if hook.id == id and hook.owner == owner.key:
            return hook
    raise NotFoundError(f"There is no web hook {id} here.", hint="List the existing ones.")


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
    is_plain_ascii = url.isascii() and url.isprintable() and " " not in url
    if (
        not is_plain_ascii
        or parts.scheme not in ("http", "https")
        or not parts.hostname
        or "@" in parts.netloc
        or port == 0
    ):
        raise InputError(
            f"{url!r:.100} is not an address for a web hook.",
            hint=(
                "Give https://host/path, without a user, a password or a space. Encode letters that"
                " are not ASCII."
            ),
        )


def _decode_hooks(row: OwnerStateRow) -> tuple[Webhook, ...]:
    entries = row.data.get("hooks", [])
    if not isinstance(entries, list):
        return ()
    return tuple(Webhook(**{**entry, "events": tuple(entry["events"])}) for entry in entries)


def _encode_hook(hook: Webhook) -> dict[str, Json]:
    return {**asdict(hook), "events": list(hook.events)}
