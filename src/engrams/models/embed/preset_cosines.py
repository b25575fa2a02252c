"""Cosines of a preset, turned into those of the model in use."""

from __future__ import annotations

from engrams.frozen_data import dataclass
from engrams.models.embed.cosine_scales import load_scale, translate_cosine
from engrams.models.embed.factory import name_card
from engrams.models.embed.families import find_family
from engrams.ports import EmbedderCard
from engrams.settings import Settings, preset_cosines


@dataclass(frozen=True, slots=True)
class PresetCosine:
    """Setting whose cosine is the preset's.

    ``given``: for ``embed.cosine_model``. ``used``: its like for the model in use. ``known``: both
    have a scale; else ``given`` is used.
    """

    name: str
    given: float
    used: float
    known: bool


def translate_preset(
    settings: Settings, card: EmbedderCard | None = None
) -> tuple[PresetCosine, ...]:
    """Translate the cosines that stand as their preset gives them.

    One that was set otherwise holds as it is. ``card``: None is that of the configured model, by
    its name. Empty where ``embed.cosine_model`` is, or where there are no vectors.
    """
    model = settings.embed.cosine_model
    card = card or name_card(settings.embed)
    if not model or not card.dimension:
        return ()
    source = load_scale(find_family(model).scale)
    known = bool(source and card.scale)
    return tuple(
        PresetCosine(
            name, given, translate_cosine(given, source, card.scale) if known else given, known
        )
        for name, given in preset_cosines(settings).items()
    )
