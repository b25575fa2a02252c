"""Every setting of engrams, in one frozen object (``Settings``, made by ``load``).

Precedence, weakest first:

1. the defaults,
2. a preset (``presets/*.toml``),
3. ``config.toml`` in the home folder,
4. ``ENGRAMS_*`` variables (``ENGRAMS_READ__LIMIT=20``: two underscores go one section down),
5. arguments.
"""

from engrams.settings.catalogue import SettingInfo, describe, names, secret_names, suggest
from engrams.settings.limits import QuotaSettings, SizeLimitSettings
from engrams.settings.loader import LoadedSettings, load, parse_value
from engrams.settings.logs import CrisisLogSettings, FeedbackSettings, LogSettings
from engrams.settings.models import (
    ChatSettings,
    EmbedSettings,
    JudgeSettings,
    MediaModelSettings,
    RerankSettings,
)
from engrams.settings.preset_files import preset_cosines, presets
from engrams.settings.read import (
    DeliverySettings,
    LinkExpansionSettings,
    ReadSettings,
    RelevanceThresholdSettings,
    ScoreWeightSettings,
    TieredSearchSettings,
)
from engrams.settings.renamed import renamed_settings
from engrams.settings.root import TEST_FOLDER, Settings, change_settings, in_test_mode
from engrams.settings.server import ServeSettings, UpstreamSettings
from engrams.settings.sessions import (
    ScopeCapSettings,
    SessionSettings,
    SummarySettings,
    TierSettings,
)
from engrams.settings.store import EncryptionSettings, StoreSettings
from engrams.settings.upkeep import (
    JOBS,
    GardenSettings,
    JobSettings,
    ReviewSettings,
    TopicSettings,
    UpkeepSettings,
    UsageSettings,
)
from engrams.settings.vault import VaultSettings
from engrams.settings.write import ChangeDetectionSettings, DocumentSettings, WriteSettings

__all__ = [
    "JOBS",
    "TEST_FOLDER",
    "ChangeDetectionSettings",
    "ChatSettings",
    "CrisisLogSettings",
    "DeliverySettings",
    "DocumentSettings",
    "EmbedSettings",
    "EncryptionSettings",
    "FeedbackSettings",
    "GardenSettings",
    "JobSettings",
    "JudgeSettings",
    "LinkExpansionSettings",
    "LoadedSettings",
    "LogSettings",
    "MediaModelSettings",
    "QuotaSettings",
    "ReadSettings",
    "RelevanceThresholdSettings",
    "RerankSettings",
    "ReviewSettings",
    "ScopeCapSettings",
    "ScoreWeightSettings",
    "ServeSettings",
    "SessionSettings",
    "SettingInfo",
    "Settings",
    "SizeLimitSettings",
    "StoreSettings",
    "SummarySettings",
    "TierSettings",
    "TieredSearchSettings",
    "TopicSettings",
    "UpkeepSettings",
    "UpstreamSettings",
    "UsageSettings",
    "VaultSettings",
    "WriteSettings",
    "change_settings",
    "describe",
    "in_test_mode",
    "load",
    "names",
    "parse_value",
    "preset_cosines",
    "presets",
    "renamed_settings",
    "secret_names",
    "suggest",
]
