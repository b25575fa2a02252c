"""engrams as it comes, without a model: its own table of word vectors, on disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

OWNER = ("user", "bench")
_TOKENS = 1000
"""Budget of a context."""


class Store:
    def __init__(self, folder: Path) -> None:
        import engrams

        self._engine = engrams.open(home=folder, jobs__workers=0)
        self.about = f"engrams {engrams.__version__}, embedder {self._engine.embedder.card.id}"

    def fill(self, items: Sequence[tuple[str, str]], owner: str = "") -> None:  # noqa: ARG002 - one owner here
        from engrams.core import Turn

        self._engine.observe([Turn(text, external_id=name) for name, text in items], scope=OWNER)
        self._engine.drain(300)

    def search(self, text: str, limit: int, owner: str = "") -> list[str]:  # noqa: ARG002 - one owner here
        hits = self._engine.search(text, scope=OWNER, limit=2 * limit).hits
        ids = [name for hit in hits for name in self._find_sources(hit.record)]
        return list(dict.fromkeys(ids))[:limit]

    def inject(self, text: str) -> list[dict[str, Any]]:
        """What ``context`` puts into a prompt; the profile, which is alike for all, is left out."""
        from engrams.core import Status

        context = self._engine.context(text, scope=OWNER, tokens=_TOKENS)
        if not context.tail:
            return []
        return [
            {
                "ids": self._find_sources(hit.record),
                "is_marked": hit.status is not Status.ACTIVE
                or (hit.outdated is not None and hit.outdated.is_told),
            }
            for hit in context.hits
        ]

    def forget(self, name: str) -> None:
        """Erase for good, with what was learned from it."""
        record_ids = [
            record.id
            for record in self._engine.list(scope=OWNER, limit=500).records
            if name in self._find_sources(record)
        ]
        self._engine.purge(record_ids, scope=OWNER)

    def check(self) -> list[str]:
        """Name what another program changed or damaged, as ``engrams doctor`` does."""
        report = self._engine.check()
        findings = [*report["problems"], *report["repaired"], *report["altered"]]
        return [str(finding) for finding in findings]

    def close(self) -> None:
        self._engine.close()

    def _find_sources(self, record: Any) -> list[str]:
        """Find the messages that a record is, or was learned from."""
        if not record.evidence:
            return [record.external_id]
        return [
            self._engine.get(quote.source, scope=OWNER).external_id for quote in record.evidence
        ]


def open_store(_encoder: object, folder: Path) -> Store:
    return Store(folder)
