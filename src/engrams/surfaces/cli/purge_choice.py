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
    candidates: Sequence[PurgeCandidate], *, yes: bool, preview: bool, as_json: bool
) -> list[str]:
    """Show numbered candidates; return the ids of the chosen ones.

    Empty: only a preview was asked for. InputError: there are none. RefusedError: none was chosen.
    """
    if not candidates:
        raise InputError(
            "No memories about it were found.", hint="Try another name, or `engrams list --text`."
        )
    if as_json and not yes:
        emit(
            [
                {
                    "id": candidate.record.id,
                    "text": candidate.record.text,
                    "certain": candidate.certain,
                    "sources": candidate.report.sources,
                }
                for candidate in candidates
            ]
        )
        return []
    for number, candidate in enumerate(candidates, 1):
        show = say if not as_json else note
        show(
            f"{number:3}  {paint(candidate.record.id, 'dim')} "
            f" {'' if candidate.certain else '(perhaps) '}{fit_line(candidate.record.text, _WIDTH)}"
        )
        for source in candidate.report.sources:
            show(
                f"     source {paint(source.id, 'dim')} {source.effect}:"
                f" {fit_line('; '.join(source.quotes), _WIDTH)}"
            )
    if preview:
        return []
    if yes:
        return [candidate.record.id for candidate in candidates if candidate.certain]
    note(
        "Erase which of them for good? Numbers (1,3-5), `all` without those marked perhaps, or"
        " nothing: "
    )
    return _parse_choice(sys.stdin.readline().strip(), candidates)


def _parse_choice(text: str, candidates: Sequence[PurgeCandidate]) -> list[str]:
    if text == "all":
        return [candidate.record.id for candidate in candidates if candidate.certain]
    numbers: list[int] = []
    for number_range in filter(None, text.replace(" ", "").split(",")):
        first, _, last = number_range.partition("-")
        if not first.isdigit() or (last and not last.isdigit()):
            raise InputError(
                f"{number_range!r} is not a number of the list.",
                hint="Write numbers such as 1,3-5, or all.",
            )
        numbers += range(int(first), int(last or first) + 1)
    if not numbers:
        raise RefusedError("Nothing was purged.", hint="Write numbers such as 1,3-5, or all.")
    if min(numbers) < 1 or max(numbers) > len(candidates):
        raise InputError(f"The list has the numbers 1 to {len(candidates)}.")
    return [candidates[number - 1].record.id for number in dict.fromkeys(numbers)]
