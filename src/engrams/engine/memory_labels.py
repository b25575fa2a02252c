"""Labels that a sender gives beside a text, added to the memory that the text became."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engrams.core import PREREQUISITES, WARNINGS, Receipt
from engrams.frozen_data import dataclass

if TYPE_CHECKING:
    from engrams.engine.engine import MemoryEngine


@dataclass(frozen=True, slots=True)
class MemoryLabels:
    """Labels of a memory. Fields mean the same as in ``Record``."""

    tags: tuple[str, ...] = ()
    triggers: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    prerequisites: tuple[str, ...] = ()
    """Conditions that must hold before a procedure begins."""
    warnings: tuple[str, ...] = ()
    category: str = ""

    def list_texts(self) -> tuple[str, ...]:
        """List the texts of all labels."""
        procedure = (*self.steps, *self.prerequisites, *self.warnings)
        category = (self.category,) if self.category else ()
        return (*self.tags, *self.triggers, *procedure, *category)


def add_labels(engine: MemoryEngine, receipt: Receipt, labels: MemoryLabels) -> None:
    """Add tags and triggers to a memory that was written; set the other labels.

    A memory that was there before keeps its own where nothing is given.
    """
    if not (labels.list_texts() and receipt.id) or receipt.outcome == "refused":
        return
    record = engine.get(receipt.id, scope=receipt.scope)
    meta = dict(record.meta)
    if labels.prerequisites:
        meta[PREREQUISITES] = list(labels.prerequisites)
    if labels.warnings:
        meta[WARNINGS] = list(labels.warnings)
    fields = {
        "tags": tuple(dict.fromkeys((*record.tags, *labels.tags))),
        "triggers": tuple(dict.fromkeys((*record.triggers, *labels.triggers))),
        "steps": labels.steps or record.steps,
        "category": labels.category or record.category,
        "meta": meta,
    }
    if any(getattr(record, name) != value for name, value in fields.items()):
        engine.edit(record.id, scope=receipt.scope, fields=fields, reason="labelled")
