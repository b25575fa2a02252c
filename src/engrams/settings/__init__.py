"""Every setting of engrams, in one frozen object.

Precedence, weakest first: the defaults below, a preset (``presets/*.toml``), ``config.toml`` in the home folder,
``ENGRAMS_*`` variables (``ENGRAMS_READ__LIMIT=20``: two underscores go one section down), arguments.
"""

from engrams.settings.apart import apart as apart
from engrams.settings.garden import GardenSettings as GardenSettings
from engrams.settings.layers import Loaded as Loaded
from engrams.settings.layers import describe as describe
from engrams.settings.layers import load as load
from engrams.settings.layers import presets as presets
from engrams.settings.owner import login as login
from engrams.settings.review import ReviewSettings as ReviewSettings
from engrams.settings.sections import ChatSettings as ChatSettings
from engrams.settings.sections import DeliverySettings as DeliverySettings
from engrams.settings.sections import EmbedSettings as EmbedSettings
from engrams.settings.sections import FloorSettings as FloorSettings
from engrams.settings.sections import GraphSettings as GraphSettings
from engrams.settings.sections import JobSettings as JobSettings
from engrams.settings.sections import Limits as Limits
from engrams.settings.sections import ReadSettings as ReadSettings
from engrams.settings.sections import ReadWeights as ReadWeights
from engrams.settings.sections import RerankSettings as RerankSettings
from engrams.settings.sections import ServeSettings as ServeSettings
from engrams.settings.sections import Settings as Settings
from engrams.settings.sections import StoreSettings as StoreSettings
from engrams.settings.sections import UpstreamSettings as UpstreamSettings
from engrams.settings.sections import UsageSettings as UsageSettings
from engrams.settings.sections import VaultSettings as VaultSettings
from engrams.settings.sections import WriteSettings as WriteSettings
from engrams.settings.sessions import SessionSettings as SessionSettings
from engrams.settings.summary import SummarySettings as SummarySettings
from engrams.settings.tiers import CapSettings as CapSettings
from engrams.settings.tiers import TierSettings as TierSettings
from engrams.settings.topics import RouteSettings as RouteSettings
from engrams.settings.topics import TopicSettings as TopicSettings
