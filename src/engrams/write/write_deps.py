"""Dependencies of the write flow."""

from __future__ import annotations

from dataclasses import field

from engrams.frozen_data import dataclass
from engrams.ports import ChatModel, Clock, Embedder, Judge, Store
from engrams.settings import Settings
from engrams.write.owner_locks import OwnerLocks


@dataclass(frozen=True, slots=True)
class WriteDeps:
    """Store, models, clock and settings of one engine, as every step of the write flow gets them."""

    store: Store
    embedder: Embedder
    """Of dimension 0 where nothing is embedded."""
    clock: Clock
    settings: Settings
    chat: ChatModel | None = None
    judge: Judge | None = None
    """Decision model that is asked before the chat model. None: there is none."""
    owner_locks: OwnerLocks = field(default_factory=OwnerLocks)
    """Held while an owner's memory is compared and changed, if that is brief."""

    @property
    def extracts_by_model(self) -> bool:
        """True if a chat model extracts statements."""
        return self.chat is not None and self.settings.write.extract in ("llm", "auto")

    @property
    def reconciles_by_model(self) -> bool:
        """True if a model compares new statements with stored ones."""
        has_model = self.chat is not None or self.judge is not None
        return has_model and self.settings.write.reconcile in ("llm", "auto")

    @property
    def learns_at_once(self) -> bool:
        """True if learning is fast enough for ``add``: rules alone are."""
        return self.settings.enabled and self.chat is None and self.settings.write.extract != "off"
