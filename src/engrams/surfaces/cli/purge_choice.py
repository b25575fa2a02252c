"""Choice of memories to purge from a numbered list."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from engrams.errors import InputError, RefusedError
from engrams.surfaces.cli.output import emit, fit_line, note, paint, say

if TYPE_CHECKING:
    from engrams.engine.answer_types import PurgeCandidate

_WIDTH = 90


def choose_candidates(
    found: Sequence[PurgeCandidate], *, yes: bool, preview: bool, as_json: bool
) -> list[str]:
    """Show numbered candidates; return the ids of the chosen ones.

    Empty: only a preview was asked for. InputError: there are none. RefusedError: none was chosen.
    """
    if not found:
        raise InputError(
            "Nothing about it was found.", hint="Try another name, or `engrams list --text`."
        )
    if as_json and not yes:
        emit(
            [
                {
                    "id": one.record.id,
                    "text": one.record.text,
                    "certain": one.certain,
                    "sources": one.report.sources,
                }
                for one in found
            ]
        )
        return []
    for number, one in enumerate(found, 1):
        show = say if not as_json else note
        show(
            f"{number:3}  {paint(one.record.id, 'dim')} "
            f" {'' if one.certain else '(perhaps) '}{fit_line(one.record.text, _WIDTH)}"
        )
        for source in one.report.sources:
            show(
                f"     source {paint(source.id, 'dim')} {source.effect}:"
                f" {fit_line('; '.join(source.quotes), _WIDTH)}"
            )
    if preview:
        return []
    if yes:
        return [one.record.id for one in found if one.certain]
    note(
        "Which are to be erased for good? Numbers (1,3-5), `all` that are not marked perhaps, or"
        " nothing: "
    )
    return _parse_choice(sys.stdin.readline().strip(), found)


def _parse_choice(text: str, found: Sequence[PurgeCandidate]) -> list[str]:
    if text == "all":
        return [one.record.id for one in found if one.certain]
    numbers: list[int] = []
    for part in filter(None, text.replace(" ", "").split(",")):
        first, _, last = part.partition("-")
        if not first.isdigit() or (last and not last.isdigit()):
            raise InputError(
                f"{part!r} is no number of the list.", hint="Give numbers as 1,3-5, or all."
            )
        numbers += range(int(first), int(last or first) + 1)
    if not numbers:
        raise RefusedError("Nothing was purged.", hint="Give numbers as 1,3-5, or all.")
    if min(numbers) < 1 or max(numbers) > len(found):
        raise InputError(f"The list has the numbers 1 to {len(found)}.")
    return [found[number - 1].record.id for number in dict.fromkeys(numbers)]
