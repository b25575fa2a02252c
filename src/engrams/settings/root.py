"""``Settings``: the one frozen object of all settings."""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, PrivateAttr

from engrams.errors import ScopeError, SettingsError
from engrams.settings.limits import QuotaSettings, SizeLimitSettings
from engrams.settings.logs import AuditSettings, CrisisLogSettings, FeedbackSettings, LogSettings
from engrams.settings.models import (
    ChatSettings,
    EmbedSettings,
    JudgeSettings,
    RerankSettings,
    SpeechSettings,
    VisionSettings,
)
from engrams.settings.read import DeliverySettings, LinkExpansionSettings, ReadSettings
from engrams.settings.section import SettingsSection
from engrams.settings.server import ServeSettings
from engrams.settings.sessions import (
    ScopeCapSettings,
    SessionSettings,
    SummarySettings,
    TierSettings,
)
from engrams.settings.store import EncryptionSettings, StoreSettings
from engrams.settings.upkeep import (
    GardenSettings,
    JobSettings,
    ReviewSettings,
    TopicSettings,
    UpkeepSettings,
    UsageSettings,
)
from engrams.settings.vault import SkillSettings, VaultSettings
from engrams.settings.write import DocumentSettings, WriteSettings

TEST_FOLDER = "test-mode"
"""Folder of test mode in the home. A home of that name is one of test mode already."""

_LOGIN_VARIABLES = ("LOGNAME", "USER", "LNAME", "USERNAME")
_USER_HINT = (
    'Give `--user NAME`, or `user = "NAME"` in config.toml (ENGRAMS_USER in the environment).'
)


class Settings(SettingsSection):
    """Every setting. Build with ``load``; change with ``model_copy(update=...)``."""

    home: Path = Field(Path("~/.engrams"), description="The home folder.")
    preset: str = Field("default", description="Preset that the values start from.")
    user: str = Field(
        "",
        description="Owner of the memory that commands without --user use. Empty: the login name.",
    )
    enabled: bool = Field(
        True,
        description=(
            "Off: engrams recalls, learns, stores and runs nothing. What is stored can still be"
            " listed, exported, forgotten and erased."
        ),
    )
    incognito: bool = Field(
        False, description="Keep memory in this process only and write nothing to disk."
    )
    test: bool = Field(False, description="Use a separate home: the folder test-mode in the home.")
    limits: SizeLimitSettings = SizeLimitSettings()
    quota: QuotaSettings = QuotaSettings()
    store: StoreSettings = StoreSettings()
    encryption: EncryptionSettings = EncryptionSettings()
    embed: EmbedSettings = EmbedSettings()
    chat: ChatSettings = ChatSettings()
    write: WriteSettings = WriteSettings()
    documents: DocumentSettings = DocumentSettings()
    read: ReadSettings = ReadSettings()
    judge: JudgeSettings = JudgeSettings()
    vision: VisionSettings = VisionSettings()
    speech: SpeechSettings = SpeechSettings()
    rerank: RerankSettings = RerankSettings()
    graph: LinkExpansionSettings = LinkExpansionSettings()
    topics: TopicSettings = TopicSettings()
    tiers: TierSettings = TierSettings()
    caps: ScopeCapSettings = ScopeCapSettings()
    summary: SummarySettings = SummarySettings()
    review: ReviewSettings = ReviewSettings()
    garden: GardenSettings = GardenSettings()
    upkeep: UpkeepSettings = UpkeepSettings()
    usage: UsageSettings = UsageSettings()
    delivery: DeliverySettings = DeliverySettings()
    sessions: SessionSettings = SessionSettings()
    jobs: JobSettings = JobSettings()
    serve: ServeSettings = ServeSettings()
    vault: VaultSettings = VaultSettings()
    skills: SkillSettings = SkillSettings()
    log: LogSettings = LogSettings()
    audit: AuditSettings = AuditSettings()
    safety: CrisisLogSettings = CrisisLogSettings()
    feedback: FeedbackSettings = FeedbackSettings()

    _login: str = PrivateAttr("")

    def model_post_init(self, context: Any, /) -> None:
        """Remember the login name; ``load`` gives that of its own environment as context."""
        self._login = context["login"] if context else find_login(os.environ)

    @property
    def is_volatile(self) -> bool:
        """True where memory is in this process only."""
        return self.incognito or self.store.url == ":memory:"

    @property
    def config_file(self) -> Path:
        """File of the home's settings; test mode has none of its own."""
        home = self.home.expanduser()
        return (home.parent if self.test and home.name == TEST_FOLDER else home) / "config.toml"

    @property
    def owner(self) -> str:
        """Default owner of a call that names none.

        ``user``, else the login name as it was when the settings were made.

        SettingsError: neither is known, as in a container whose user has no name. ScopeError:
        ``sessions.owner`` is ``thread``.
        """
        if not self.user and self.sessions.owner == "thread":
            raise ScopeError(
                "The owner of the memory is not named.",
                hint="Name a person (--user) or a conversation (--conversation).",
            )
        if not (self.user or self._login):
            raise SettingsError(
                "The owner of the memory is not named: `user` is not set, and this login has no name.",
                hint=_USER_HINT,
            )
        return self.user or self._login

    @property
    def known_owner(self) -> str:
        """``owner``, or empty where every call names one."""
        if not self.user and self.sessions.owner == "thread":
            return ""
        return self.user or self._login

    def owner_labels(self, thread: str = "") -> tuple[str, str]:
        """Return the labels of the owner of a call that names nobody.

        ``thread``: the conversation of the call, which owns it with ``sessions.owner = thread``.
        """
        by_thread = thread and not self.user and self.sessions.owner == "thread"
        return ("session", thread) if by_thread else ("user", self.owner)


def change_settings(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """Copy the settings with some values changed, by dotted name, and validate them again."""
    tree = settings.model_dump()
    for name, value in changes.items():
        *sections, last = name.split(".")
        node = tree
        for section in sections:
            node = node[section]
        node[last] = value
    return Settings.model_validate(tree)


def in_test_mode(settings: Settings) -> Settings:
    """Move memory into the home of test mode, where test mode is on.

    Idempotent. No database, folder or remote stays outside of that home. SettingsError: these are
    no settings.
    """
    if not isinstance(settings, Settings):
        raise SettingsError(
            f"Settings are needed, not {type(settings).__name__}.",
            hint='Give the folder as home: engrams.open(home="…").',
        )
    if not settings.test:
        return settings
    home = settings.home if settings.home.name == TEST_FOLDER else settings.home / TEST_FOLDER
    url = settings.store.url if settings.store.url == ":memory:" else ""
    store = settings.store.model_copy(update={"url": url})
    vault = settings.vault.model_copy(update={"path": "", "remote": ""})
    return settings.model_copy(update={"home": home, "store": store, "vault": vault})


def find_login(environ: Mapping[str, str]) -> str:
    """Return the login name; empty where there is none."""
    for variable in _LOGIN_VARIABLES:
        if environ.get(variable):
            return environ[variable]
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
