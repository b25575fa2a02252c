"""Dependencies of an engine, put together by ``engrams.open``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from engrams.core.process_peers import ProcessPeers
from engrams.frozen_data import dataclass
from engrams.ports import (
    AttachmentStore,
    ChatModel,
    Clock,
    CodeReader,
    Embedder,
    HomeFileCleaner,
    Judge,
    MediaModel,
    MemoryFiles,
    Reranker,
    SkillRecordSource,
    Store,
    TokenCounter,
    UpkeepGatekeeper,
)
from engrams.settings import Settings
from engrams.upkeep.helper_processes import HelperProcesses
from engrams.upkeep.job_worker import Handler


@dataclass(frozen=True, slots=True)
class EngineDeps:
    """Settings, store, models and clock of an engine, and the files beside the store."""

    settings: Settings
    store: Store
    embedder: Embedder
    chat: ChatModel | None
    """None: memory works by rules alone."""
    counter: TokenCounter
    """Counts the tokens of contexts."""
    clock: Clock
    upkeep: UpkeepGatekeeper
    """Says when jobs of upkeep may run."""
    reranker: Reranker | None = None
    judge: Judge | None = None
    """Decision model. None: the chat model or rules decide."""
    media_models: Mapping[str, MediaModel] = field(default_factory=dict)
    """Models that tell of files in words: of pictures, ``image``, and of sounds, ``audio``."""
    handlers: Mapping[str, Handler] = field(default_factory=dict)
    """Kind of a job -> its handler, for kinds that the engine does not handle: those of a vault."""
    skills: SkillRecordSource | None = None
    code: CodeReader | None = None
    """Reads the checkouts that memories name files of; None: they are not compared."""
    files: MemoryFiles | None = None
    """The vault. None: it is off."""
    home: Callable[[], HomeFileCleaner] | None = None
    """Makes the cleaner of files beside the store, for the first purge. None: there are none."""
    attachments: Callable[[], AttachmentStore] | None = None
    """Opens what keeps the files of pictures and sounds. None: only what is said of them is kept."""
    plain: Embedder | None = None
    """The embedder that the detector of changes was trained with. None: there is no detector."""
    helpers: HelperProcesses = field(default_factory=HelperProcesses)
    """Processes that help with large imports."""
    peers: ProcessPeers = field(default_factory=ProcessPeers)
    """Other processes of the same server."""
