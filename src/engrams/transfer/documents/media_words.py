"""Words of models about pictures and sounds, marked as those of the model."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace

from engrams.errors import SettingsError
from engrams.ports import MediaModel, MediaRequest
from engrams.text.invisible import drop_invisible
from engrams.transfer.documents.read_document import ReadDocument, TextBlock
from engrams.transfer.documents.stored_documents import GivenDocument

_HEADINGS: Mapping[str, str] = {"image": "Described by", "audio": "Transcribed by"}
_MISSING: Mapping[str, tuple[str, str]] = {
    "image": (
        "No model that sees pictures is connected.",
        "Name one: `engrams config vision.model NAME`; then `engrams documents --describe`.",
    ),
    "audio": (
        "No model that hears is connected.",
        "Name one: `engrams config speech.model NAME`; then `engrams documents --describe`.",
    ),
}


def describe_media(
    document: ReadDocument, source: GivenDocument, models: Mapping[str, MediaModel]
) -> ReadDocument:
    """Add what a model tells of a picture or sound, under a heading with its name.

    A model that sees gets the small copy, which has no metadata: no place leaves this machine.
    SettingsError: no model is connected. ModelError: it failed.
    """
    family = document.media.partition("/")[0]
    model = models.get(family)
    if model is None:
        message, hint = _MISSING[family]
        raise SettingsError(message, hint=hint)
    if family == "image":
        request = MediaRequest(base64.b64decode(document.preview), "image/jpeg", source.note)
    else:
        request = MediaRequest(source.data, document.media, source.note)
    words = drop_invisible(model.tell(request))
    heading = TextBlock(f"{_HEADINGS[family]} {model.name}", level=1, by=model.name)
    return replace(document, blocks=(*document.blocks, heading, TextBlock(words, by=model.name)))
