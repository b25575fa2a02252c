"""Translation of a preset's cosine thresholds to the embedding model in use.

The presets give cosines for one model. Another model gives the same pair of texts another cosine.
"""

from __future__ import annotations

from engrams.frozen_data import dataclass
from engrams.models.embed.cosine_scales import load_scale, translate_cosine
from engrams.models.embed.factory import name_card
from engrams.models.embed.families import find_family
from engrams.ports import EmbedderCard
from engrams.settings import Settings, preset_cosines


@dataclass(frozen=True, slots=True)
class PresetCosine:
    """Setting whose cosine is the preset's."""

    name: str
    """Dotted name of the setting."""
    preset_cosine: float
    """Cosine for ``embed.cosine_model``."""
    used: float
    """Cosine of the same meaning for the model in use; ``preset_cosine`` without scales."""
    is_translated: bool
    """Both models have a scale of cosines."""


def translate_preset(
    settings: Settings, card: EmbedderCard | None = None
) -> tuple[PresetCosine, ...]:
    """Translate the cosines that have their preset's value.

    A cosine that the user set stays as it is. ``card``: None is that of the configured model, by
    its name. Empty if ``embed.cosine_model`` is empty, or if there are no vectors.
    """
    model = settings.embed.cosine_model
    card = card or name_card(settings.embed)
    if not model or not card.dimension:
        return ()
    source = load_scale(find_family(model).scale)
    has_scales = bool(source and card.scale)
    return tuple(
        PresetCosine(
            name,
            preset_cosine,
            translate_cosine(preset_cosine, source, card.scale) if has_scales else preset_cosine,
            has_scales,
        )
        for name, preset_cosine in preset_cosines(settings).items()
    )
