"""Job that tells web hooks of memories that changed."""

from __future__ import annotations

import base64
import hashlib
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
from engrams.transfer.webhook_registry import Webhook, WebhookEvent, WebhookRegistry

_SECONDS = 30.0
"""Time of one job; the next look asks for the rest."""
_SHOWN = frozenset(("text", "meta", "tags", "valid_to", "kind"))
"""Fields whose change is an update."""


class WebhookDeliverer:
    """Follows the changes of owners that have web hooks, and sends them.

    A change is found in memory itself, whoever made it, so none is lost by a crash; one may be sent
    twice, under the same id.
    """

    def __init__(self, store: Store, clock: Clock, allow_private: bool) -> None:
        self._store = store
        self._clock = clock
        self._allow_private = allow_private
        self._registry = WebhookRegistry(store, clock)

    def look(self) -> None:
        """Ask for a job where something is to be sent.

        Not where one was given up: ``retry`` goes on.
        """
        behind = [hook for hook in self._registry.find_all() if self._is_behind(hook)]
        if not behind:
            return
        dead = {job.key for job in self._store.queue(("dead",), 1000) if job.kind == WEBHOOK}
        specs = [
            JobSpec(WEBHOOK, hook.key, {"owner": hook.owner})
            for hook in behind
            if hook.key not in dead
        ]
        if specs:
            self._store.enqueue(specs, self._clock())

    def run(self, job: Job) -> None:
        """Send what changed since the last time, one request a memory.

        EngramsError, and so another try: the address does not answer 2xx.
        """
        hook = next((each for each in self._registry.find_all() if each.key == job.key), None)
        if hook is not None:
            owner = Scope.parse(hook.owner)
            start = self._clock()
            row = self._load(hook)
            # A store that memory was moved to counts changes anew, from a lower number.
            after = min(int(row.data["after"]), self._store.find_change(owner, 0))
            since = parse_time(row.data["since"])
            end = time.monotonic() + _SECONDS
            while time.monotonic() < end:
                changed = self._store.changes(owner, after, 1)
                if changed.last == after:
                    row = self._store.save_state(
                        replace(row, data={"after": after, "since": start.isoformat()}), row.token
                    )
                    break
                for record in changed.records:
                    self._send(hook, record, changed.last, since)
                after = changed.last
                row = self._store.save_state(
                    replace(row, data={"after": after, "since": since.isoformat()}), row.token
                )
        self._store.finish(job.lease, self._clock())

    def _is_behind(self, hook: Webhook) -> bool:
        return self._store.find_change(Scope.parse(hook.owner), 0) != int(
            self._load(hook).data["after"]
        )

    def _load(self, hook: Webhook) -> OwnerStateRow:
        row = self._store.load_state(Scope.parse(hook.owner), f"webhook-{hook.id}")
        return (
            row if row.token else replace(row, data={"after": hook.after, "since": hook.created_at})
        )

    def _send(self, hook: Webhook, record: Record, change: int, since: datetime) -> None:
        event = classify_change(record, self._store.history(record.scope.owner, record.id), since)
        if event is None or event not in hook.events:
            return
        at = self._clock()
        shown = {} if event == "DELETE" else {"memory": mask_corrected(record).text}
        body = json.dumps(
            {"event_details": {"id": record.id, "data": shown, "event": event}}, ensure_ascii=False
        ).encode()
        id = f"msg_{hook.id}_{change}"
        moment = str(int(at.timestamp()))
        headers = {
            "content-type": "application/json",
            "webhook-id": id,
            "webhook-timestamp": moment,
            "webhook-signature": sign(hook.secret, id, moment, body),
        }
        from engrams.transfer.public_addresses import post_json

        status = post_json(hook.url, body, headers, self._allow_private)
        if not 200 <= status < 300:
            raise EngramsError(
                f"The web hook {hook.name or hook.id} answered {status}.", hint="It is tried again."
            )


def sign(secret: str, id: str, moment: str, body: bytes) -> str:
    """Sign a message by Standard Webhooks: ``v1,`` and base64 of HMAC-SHA256."""
    signed = hmac.new(
        secret.removeprefix("whsec_").encode(),
        b".".join((id.encode(), moment.encode(), body)),
        hashlib.sha256,
    )
    return f"v1,{base64.b64encode(signed.digest()).decode()}"


def classify_change(
    record: Record, history: Sequence[HistoryEntry], since: datetime
) -> WebhookEvent | None:
    """Name what became of a memory since a time.

    None: nothing that shows. ADD: it is found from now on. DELETE: it is not found any more.
    UPDATE: it says something else.
    """
    new: list[dict[str, Any]] = [dict(entry.after) for entry in history if entry.at > since]
    fresh = record.version == 1 or bool(history and history[0].at > since)
    moved = any("status" in after for after in new)
    if record.status is Status.PURGED:
        return "DELETE"
    if record.status is not Status.ACTIVE:
        return "DELETE" if moved and not fresh and record.status is not Status.CANDIDATE else None
    if fresh or moved:
        return "ADD"
    return "UPDATE" if any(_SHOWN & after.keys() for after in new) else None
