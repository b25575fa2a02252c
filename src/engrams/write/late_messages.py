"""Messages that arrive after later ones: an older conversation that is brought in afterwards.

What they say may have ended by a message that was stored long ago, which nobody looks at again. So
they are named to the job that looks for changes.
"""

from __future__ import annotations

from collections.abc import Sequence

from engrams.core import Kind, Record, Status
from engrams.ports import CHANGES, JobSpec, RecordQuery
from engrams.write.related import scopes_in_reach
from engrams.write.write_deps import WriteDeps

LATE = "late"
"""Ids of late messages in the payload of the changes job."""
MESSAGE_KINDS = (Kind.TURN, Kind.NOTE)


def plan_late_comparison(records: Sequence[Record], deps: WriteDeps) -> tuple[JobSpec, ...]:
    """Plan the job that compares new messages with stored ones that were said later.

    Empty: nothing stored was said later. A model that reconciles compares them itself.
    """
    section = deps.settings.write
    if not section.changes.enabled or section.reconcile == "off" or deps.reconciles_by_model:
        return ()
    messages = [
        record
        for record in records
        if record.kind in MESSAGE_KINDS
        and record.role != "assistant"
        and record.status is Status.ACTIVE
        and record.recorded_at < deps.clock()
    ]
    if not messages:
        return ()
    owner = messages[0].scope.owner
    newest = deps.store.find(RecordQuery(scopes_in_reach(owner), MESSAGE_KINDS, limit=1)).records
    late_ids = [
        message.id for message in messages if newest and message.story_key < newest[0].story_key
    ]
    if not late_ids:
        return ()
    return (
        JobSpec(
            CHANGES,
            owner.key,
            {"scope": owner.key, "items": [], LATE: late_ids},
            priority=-1,
            attempts=deps.settings.jobs.max_attempts,
        ),
    )
