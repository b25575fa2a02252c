"""Cosines of a preset, turned into those of the model in use."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter

from engrams.models.embed.cosinescales import load_scale, translate_cosine
from engrams.models.embed.modelfamilies import find_family
from engrams.ports import EmbedderCard
from engrams.settings import Settings, preset_cosines


@dataclass(frozen=True, slots=True)
class PresetCosine:
    """Setting whose cosine is the preset's.
    ``given``: for ``embed.cosine_model``. ``used``: its like for the model in use; the same where one of the two has no scale."""

    name: str
    given: float
    used: float


def translate_preset(settings: Settings, card: EmbedderCard) -> tuple[PresetCosine, ...]:
    """Translate the cosines that stand as their preset gives them.
    One that was set otherwise holds as it is. Empty where ``embed.cosine_model`` is."""
    model = settings.embed.cosine_model
    if not model:
        return ()
    source = load_scale(find_family(model).scale)
    known = bool(source and card.scale)
    return tuple(
        PresetCosine(name, given, translate_cosine(given, source, card.scale) if known else given)
        for name, given in preset_cosines(settings.preset).items()
        if attrgetter(name)(settings) == given
    )
