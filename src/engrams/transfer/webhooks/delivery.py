"""Job that tells web hooks of memories that changed.

``WebhookDeliverer.look`` asks for a job where a web hook is behind, ``run`` does that job. Messages
follow Standard Webhooks (https://www.standardwebhooks.com).
"""

from __future__ import annotations

import base64
import hmac
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from engrams.core import HistoryEntry, Record, Scope, Status
from engrams.core.clock import parse_time
from engrams.errors import EngramsError
from engrams.ports import (
    WEBHOOK,
    Clock,
    Job,
    JobSpec,
    OwnerStateRow,
    Store,
)
from engrams.read.corrected_words import mask_corrected
from engrams.transfer.webhooks.registry import Webhook, WebhookEvent, WebhookRegistry

_SECONDS = 30.0
"""Time of one job; the next look asks for the rest."""
_SHOWN_FIELDS = frozenset(("text", "meta", "tags", "valid_to", "kind"))
"""Fields whose change is an update."""


class WebhookDeliverer:
    """Follows the changes of owners that have web hooks, and sends them.

    Changes are read from memory itself, whoever made them, so a crash loses none; a message may be
    sent twice, under the same id. How far a web hook has come is a state of its owner: the number
    of the last change sent (``after``), and the time since which history counts as new (``since``).
    """

    def __init__(self, store: Store, clock: Clock, allow_private: bool) -> None:
        self._store = store
        self._clock = clock
        self._allow_private = allow_private
        self._registry = WebhookRegistry(store, clock)

    def look(self) -> None:
        """Ask for a job for each web hook that is behind.

        A web hook whose job was given up stays silent until ``retry``.
        """
        hooks_behind = [hook for hook in self._registry.find_all() if self._is_behind(hook)]
        if not hooks_behind:
            return
        dead_keys = {job.key for job in self._store.queue(("dead",), 1000) if job.kind == WEBHOOK}
        specs = [
            JobSpec(WEBHOOK, hook.key, {"owner": hook.owner})
            for hook in hooks_behind
            if hook.key not in dead_keys
        ]
        if specs:
            self._store.enqueue(specs, self._clock())

    def run(self, job: Job) -> None:
        """Send what changed since the last time, one request a memory.

        EngramsError, and so another try: the address does not answer 2xx.
        """
        for hook in self._registry.find_all():
            if hook.key == job.key:
                self._send_changes(hook)
                break
        self._store.finish(job.lease, self._clock())

    def _send_changes(self, hook: Webhook) -> None:
        owner = Scope.parse(hook.owner)
        began_at = self._clock()
        row = self._load_position(hook)
        # A store that memory was moved to counts changes anew, from a lower number.
        after = min(int(row.data["after"]), self._store.find_change(owner, 0))
        since = parse_time(row.data["since"])
        deadline = time.monotonic() + _SECONDS
        while time.monotonic() < deadline:
            page = self._store.changes(owner, after, 1)
            if page.last == after:
                # Everything is sent: from now on only later history is new.
                self._save_position(row, after, began_at)
                return
            for record in page.records:
                self._send(hook, record, page.last, since)
            after = page.last
            row = self._save_position(row, after, since)

    def _is_behind(self, hook: Webhook) -> bool:
        last_change = self._store.find_change(Scope.parse(hook.owner), 0)
        return last_change != int(self._load_position(hook).data["after"])

    def _load_position(self, hook: Webhook) -> OwnerStateRow:
        """Load how far a web hook has come."""
        row = self._store.load_state(Scope.parse(hook.owner), f"webhook-{hook.id}")
        if row.token:
            return row
        return replace(row, data={"after": hook.after, "since": hook.created_at})

    def _save_position(self, row: OwnerStateRow, after: int, since: datetime) -> OwnerStateRow:
        data = {"after": after, "since": since.isoformat()}
        return self._store.save_state(replace(row, data=data), row.token)

    def _send(self, hook: Webhook, record: Record, change: int, since: datetime) -> None:
        """Send one changed memory, if the web hook hears of such an event."""
        history = self._store.history(record.scope.owner, record.id)
        event = classify_change(record, history, since)
        if event is None or event not in hook.events:
            return
        data = {} if event == "DELETE" else {"memory": mask_corrected(record).text}
        body = json.dumps(
            {"event_details": {"id": record.id, "data": data, "event": event}}, ensure_ascii=False
        ).encode()
        message_id = f"msg_{hook.id}_{change}"
        timestamp = str(int(self._clock().timestamp()))
        headers = {
            "content-type": "application/json",
            "webhook-id": message_id,
            "webhook-timestamp": timestamp,
            "webhook-signature": sign(hook.secret, message_id, timestamp, body),
        }
        from engrams.transfer.webhooks.public_addresses import post_json

        status = post_json(hook.url, body, headers, self._allow_private)
        if not 200 <= status < 300:
            raise EngramsError(
                f"The web hook {hook.name or hook.id} answered {status}.", hint="It is tried again."
            )


def sign(secret: str, message_id: str, timestamp: str, body: bytes) -> str:
    """Sign a message as Standard Webhooks do: ``v1,`` and base64 of its HMAC-SHA256.

    ``secret``: ``whsec_`` and the key in base64. ``timestamp``: seconds since 1970. The signed text
    is ``ID.TIMESTAMP.BODY``.
    """
    # Secrets of older homes are in the alphabet of addresses.
    key = base64.b64decode(secret.removeprefix("whsec_").translate(str.maketrans("-_", "+/")))
    digest = hmac.digest(
        key,
        b".".join((message_id.encode(), timestamp.encode(), body)),
        "sha256",
    )
    return f"v1,{base64.b64encode(digest).decode()}"


def classify_change(
    record: Record, history: Sequence[HistoryEntry], since: datetime
) -> WebhookEvent | None:
    """Classify what became of a memory since a time.

    ADD: it is found from now on. DELETE: it is not found any more. UPDATE: it says something else.
    None: nothing that shows.
    """
    new_values: list[dict[str, Any]] = [dict(entry.after) for entry in history if entry.at > since]
    is_new = record.version == 1 or bool(history and history[0].at > since)
    has_new_status = any("status" in values for values in new_values)
    if record.status is Status.PURGED:
        return "DELETE"
    if record.status is Status.CANDIDATE:
        return None
    if record.status is not Status.ACTIVE:
        return "DELETE" if has_new_status and not is_new else None
    if is_new or has_new_status:
        return "ADD"
    return "UPDATE" if any(_SHOWN_FIELDS & values.keys() for values in new_values) else None
