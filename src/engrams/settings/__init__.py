"""Every setting of engrams, in one frozen object.

Precedence, weakest first: the defaults, a preset (``presets/*.toml``), ``config.toml`` in the home folder, ``ENGRAMS_*`` variables
(``ENGRAMS_READ__LIMIT=20``: two underscores go one section down), arguments."""

from engrams.settings.background import JOBS as JOBS
from engrams.settings.background import GardenSettings as GardenSettings
from engrams.settings.background import JobSettings as JobSettings
from engrams.settings.background import ReviewSettings as ReviewSettings
from engrams.settings.background import ScopeCapSettings as ScopeCapSettings
from engrams.settings.background import SessionSettings as SessionSettings
from engrams.settings.background import SummarySettings as SummarySettings
from engrams.settings.background import TierSettings as TierSettings
from engrams.settings.background import TopicSettings as TopicSettings
from engrams.settings.background import UpkeepSettings as UpkeepSettings
from engrams.settings.background import UsageSettings as UsageSettings
from engrams.settings.core import ChatSettings as ChatSettings
from engrams.settings.core import EmbedSettings as EmbedSettings
from engrams.settings.core import EncryptionSettings as EncryptionSettings
from engrams.settings.core import QuotaSettings as QuotaSettings
from engrams.settings.core import SizeLimitSettings as SizeLimitSettings
from engrams.settings.core import StoreSettings as StoreSettings
from engrams.settings.loader import TEST_FOLDER as TEST_FOLDER
from engrams.settings.loader import LoadedSettings as LoadedSettings
from engrams.settings.loader import SettingInfo as SettingInfo
from engrams.settings.loader import Settings as Settings
from engrams.settings.loader import change_settings as change_settings
from engrams.settings.loader import describe as describe
from engrams.settings.loader import in_test_mode as in_test_mode
from engrams.settings.loader import load as load
from engrams.settings.loader import names as names
from engrams.settings.loader import preset_cosines as preset_cosines
from engrams.settings.loader import presets as presets
from engrams.settings.loader import secret_names as secret_names
from engrams.settings.loader import suggest as suggest
from engrams.settings.read import DeliverySettings as DeliverySettings
from engrams.settings.read import LinkExpansionSettings as LinkExpansionSettings
from engrams.settings.read import ReadSettings as ReadSettings
from engrams.settings.read import RelevanceThresholdSettings as RelevanceThresholdSettings
from engrams.settings.read import RerankSettings as RerankSettings
from engrams.settings.read import ScoreWeightSettings as ScoreWeightSettings
from engrams.settings.read import TieredSearchSettings as TieredSearchSettings
from engrams.settings.serve import CrisisLogSettings as CrisisLogSettings
from engrams.settings.serve import FeedbackSettings as FeedbackSettings
from engrams.settings.serve import ServeSettings as ServeSettings
from engrams.settings.serve import UpstreamSettings as UpstreamSettings
from engrams.settings.serve import VaultSettings as VaultSettings
from engrams.settings.write import ChangeDetectionSettings as ChangeDetectionSettings
from engrams.settings.write import WriteSettings as WriteSettings
