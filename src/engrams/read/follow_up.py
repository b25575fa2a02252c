"""Follow-ups: a prompt that says little by itself is completed from the conversation before it."""

from __future__ import annotations

from dataclasses import replace

from engrams.read.relevance.text_traits import describe_prompt, is_vague
from engrams.read.request import ReadRequest
from engrams.settings import ReadSettings
from engrams.text.acknowledgements import is_acknowledgement


def complete_follow_up(request: ReadRequest, settings: ReadSettings) -> ReadRequest:
    """Complete a vague prompt, "what do you suggest?" or "yes please", by what was said before.

    One that only picks from it, "the second one", asks memory for nothing. A prompt that says what
    it is about stays as it is. Where prompts are not judged, the conversation always counts.
    """
    if not request.conversation:
        return request
    if settings.least_need:
        if describe_prompt(request.text).points_back:
            return replace(request, text="", conversation="")
        if not (is_vague(request.text) or is_acknowledgement(request.text)):
            return replace(request, conversation="")
    return replace(
        request,
        text=f"{request.text}\n{request.conversation}",
        conversation="",
        # The words of the conversation, of which few are meant, lower each probability.
        least_probability=request.least_probability / 2,
    )
