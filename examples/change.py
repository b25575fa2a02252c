"""Facts change: what is true now, what was true then, and the history that connects them."""

from datetime import UTC, datetime

import engrams
from engrams import Turn

ALICE = ("user", "alice")

with engrams.open(store__url=":memory:") as memory:
    memory.observe(
        Turn("I live in Paris and work as a nurse.", at=datetime(2025, 1, 10, tzinfo=UTC)),
        scope=ALICE,
    )
    memory.observe(Turn("I moved to Berlin.", at=datetime(2026, 3, 2, tzinfo=UTC)), scope=ALICE)
    memory.drain()

    question = "Where does Alice live?"
    for label, day in (("today", None), ("June 2025", datetime(2025, 6, 1, tzinfo=UTC))):
        hit = memory.search(question, scope=ALICE, as_of=day, limit=1).hits[0]
        print(f"{label:10} {hit.record.text}")

    for record in memory.list(
        scope=ALICE, kinds=("fact",), statuses=("active", "superseded"), order="oldest"
    ).records:
        until = f" until {record.valid_to:%d %b %Y}" if record.valid_to else ""
        print(f"{record.status:10} {record.text}{until}")
