"""Compose parsed pieces into intervals: join dates, ranges and modifiers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from engrams.frozen_data import dataclass
from engrams.text.times.calendar_math import LocalInterval
from engrams.text.times.grammar import DatePart, Piece, TimeGrammar, TimeModifier
from engrams.text.times.interval import TimeDirection
from engrams.text.times.lexicon import HOURS
from engrams.text.times.modifiers import apply_modifier
from engrams.text.times.resolve import TimeViewpoint, is_recurring, resolve_nearest, resolve_part

_YEARLY = ("date", "month", "season", "holiday", "quarter")
_ENDS = ("date", "month", "year", "season", "holiday", "quarter", "weekday", "dom", "fixed", "unit")
_CLOCKED = ("date", "weekday", "dom", "holiday", "unit")
_GAP = 24
_NARROW_GAP = 12
"""Most characters between two parts of one date."""


@dataclass(slots=True)
class DateNode:
    """Date part or interval with its position in the text."""

    at: int
    end: int
    part: DatePart | None
    span: LocalInterval | None = None
    recurs: bool = False
    ranged: bool = False


@dataclass(frozen=True, slots=True)
class ScannedTimeText:
    """Hold the text, its grammar and the current time."""

    low: str
    grammar: TimeGrammar
    now: datetime
    direction: TimeDirection = "as told"

    def view(self, *, ahead: bool, near: bool = False) -> TimeViewpoint:
        """Return the viewpoint of a part whose clause speaks of the future, or does not."""
        return TimeViewpoint(self.now, ahead, near=near, behind=self.direction == "past")

    def speaks_of_future(self, at: int, *, until: bool = False) -> bool:
        """Detect a clause about the future around ``at``.

        ``until``: also a clause about a lasting state. Of a future word and a past word the nearer
        counts.
        """
        if self.direction != "as told":
            return self.direction == "future"
        start, stop = self._clause_bounds(at)
        future = self._nearest_match(self.grammar.future, at, start, stop)
        past = self._nearest_match(self.grammar.past, at, start, stop)
        if future is not None:
            return past is None or future <= past
        return until and past is None and bool(self.grammar.present.search(self.low, start, stop))

    def speaks_of_past(self, at: int) -> bool:
        """Detect an explicit past tense in the clause around ``at``."""
        if self.direction != "as told":
            return True
        return self.grammar.past.search(self.low, *self._clause_bounds(at)) is not None

    def _clause_bounds(self, at: int) -> tuple[int, int]:
        first = max(0, at - 160)
        start = max(
            (m.end() for m in self.grammar.clause.finditer(self.low, first, at)), default=first
        )
        clause_end = self.grammar.clause.search(self.low, at, at + 120)
        return start, clause_end.start() if clause_end else at + 120

    def _nearest_match(self, words: re.Pattern[str], at: int, start: int, stop: int) -> int | None:
        return min(
            (abs(m.start() - at) for m in words.finditer(self.low, start, stop)), default=None
        )


def compose_nodes(pieces: Sequence[Piece], scene: ScannedTimeText) -> list[DateNode]:
    """Compose the pieces of a text to dates and ranges, in text order.

    The pieces are read from the end of the text to its beginning. So a modifier before a date
    ("early May") meets the date in ``nodes``. A modifier behind a date (``suffix``) waits in
    ``suffixes`` until its date comes. Times that do not exist are left out, such as 31 February.
    """
    nodes: list[DateNode] = []
    suffixes: list[TimeModifier] = []
    joined = _join_parts(list(pieces), scene)
    for piece, before in zip(reversed(joined), [*reversed(joined[:-1]), None], strict=True):
        if isinstance(piece, TimeModifier):
            if piece.suffix:
                suffixes.append(piece)
            else:
                _apply_prefix(piece, nodes, scene)
            continue
        if piece.kind == "clock":
            continue
        node = DateNode(piece.at, piece.end, piece, recurs=is_recurring(piece))
        while suffixes and _touches(scene, node.end, suffixes[-1].at):
            _apply_suffix(suffixes.pop(), node, before, scene)
        nodes += _stand_alone(suffixes)
        suffixes.clear()
        if nodes and (merged := _link_range(node, nodes[-1], scene.grammar.to, scene)):
            nodes[-1] = merged
        else:
            nodes.append(node)
    nodes += _stand_alone(suffixes)
    return [node for node in reversed(nodes) if _resolve_node(node, scene)]


def _stand_alone(suffixes: Sequence[TimeModifier]) -> list[DateNode]:
    """Make dates of the modifiers that mean one without a date beside them."""
    return [
        DateNode(modifier.instead.at, modifier.instead.end, modifier.instead)
        for modifier in suffixes
        if modifier.instead
    ]


def _touches(scene: ScannedTimeText, end: int, at: int) -> bool:
    return 0 <= at - end <= _GAP and scene.grammar.touch.fullmatch(scene.low, end, at) is not None


def _apply_prefix(mod: TimeModifier, nodes: list[DateNode], scene: ScannedTimeText) -> None:
    node = nodes[-1] if nodes else None
    if node is None or not _touches(scene, mod.end, node.at):
        if mod.instead is not None:
            nodes.append(DateNode(mod.instead.at, mod.instead.end, mod.instead))
        return
    if mod.kind not in ("from", "between"):
        if node.part is None or node.part.kind not in ("about", "stretch"):
            _apply_modifier(mod, node, scene)
        return
    link = scene.grammar.both if mod.kind == "between" else scene.grammar.to
    if len(nodes) > 1 and (merged := _link_range(node, nodes[-2], link, scene)):
        nodes[-2:] = [merged]
    if nodes[-1].ranged or (nodes[-1].part and nodes[-1].part.last_day):
        nodes[-1].at = mod.at


def _apply_suffix(
    mod: TimeModifier, node: DateNode, before: Piece | None, scene: ScannedTimeText
) -> None:
    """Apply a modifier behind a date; the "until" of a range only ends it: "3日から7日まで"."""
    is_linked = isinstance(before, DatePart) and scene.grammar.to.fullmatch(
        scene.low, before.end, node.at
    )
    if mod.kind == "until" and is_linked:
        node.end = mod.end
    else:
        _apply_modifier(mod, node, scene)


def _apply_modifier(mod: TimeModifier, node: DateNode, scene: ScannedTimeText) -> None:
    try:
        by_then = mod.kind == "by" and scene.direction != "past"
        ahead = by_then or scene.speaks_of_future(node.at, until=mod.kind == "until")
        part = _christmas_day(node.part, mod)
        span = node.span if node.span or not part else resolve_part(part, scene.view(ahead=ahead))
        if span is None:
            return
        changed = apply_modifier(mod, span, scene.now)
    except (ValueError, OverflowError):  # "the 31st day of June", a year outside the calendar
        if mod.instead is not None:
            node.at = mod.instead.at
            node.end = mod.instead.end
            node.part = mod.instead
            node.span = None
        return
    if changed.start < changed.end:
        node.span = changed
        node.at = min(node.at, mod.at)
        node.end = max(node.end, mod.end)


def _christmas_day(part: DatePart | None, mod: TimeModifier) -> DatePart | None:
    """Count "two days before Christmas" from the 25th."""
    return (
        replace(part, name="christmasday")
        if part is not None and part.name == "christmas" and mod.kind == "shift"
        else part
    )


def _link_range(
    first: DateNode, last: DateNode, link: re.Pattern[str], scene: ScannedTimeText
) -> DateNode | None:
    """Link two nodes to a range if a linking word joins them."""
    if not 0 < last.at - first.end <= _GAP or not link.fullmatch(scene.low, first.end, last.at):
        return None
    if _is_night(first.part) and _is_range_end(last.part):
        return replace(first, end=last.end)
    if not (_is_range_end(first.part) and _is_range_end(last.part)):
        return None
    try:
        span = _range_interval(first, last, scene)
    except (ValueError, OverflowError):  # an end outside the calendar: two times, not a range
        return None
    if span.start >= span.end:
        return None
    return DateNode(
        at=first.at,
        end=last.end,
        part=None,
        span=span,
        recurs=first.recurs and last.recurs,
        ranged=True,
    )


def _is_range_end(part: DatePart | None) -> bool:
    return part is not None and part.kind in _ENDS and not part.hours


def _is_night(part: DatePart | None) -> bool:
    """True for a night, which the day after it may be named with: "from Saturday to Sunday"."""
    return part is not None and part.hours == HOURS["night"]


def _range_interval(first: DateNode, last: DateNode, scene: ScannedTimeText) -> LocalInterval:
    assert first.part is not None
    assert last.part is not None
    sight = scene.view(ahead=scene.speaks_of_future(first.at))
    if last.span is None and last.recurs and not first.recurs:
        begin = first.span or resolve_part(first.part, sight)
        end = resolve_nearest(last.part, begin, before=False)
    else:
        end = last.span or resolve_part(last.part, sight)
        loose = first.recurs or (
            first.part.kind in ("weekday", "dom")
            and first.part.lean is None
            and first.part.offset is None
        )
        begin = first.span or (
            resolve_nearest(first.part, end, before=True)
            if loose
            else resolve_part(first.part, sight)
        )
    return LocalInterval(begin.start, end.end, "range")


def _resolve_node(node: DateNode, scene: ScannedTimeText) -> bool:
    if node.span is None and node.part is not None:
        try:
            loose = node.recurs or node.part.lean is None
            node.span = resolve_part(
                node.part,
                scene.view(
                    ahead=loose and scene.speaks_of_future(node.at),
                    near=node.recurs and not scene.speaks_of_past(node.at),
                ),
            )
        except (ValueError, OverflowError):  # 31 February: not a time
            return False
    return node.span is not None


def _join_parts(pieces: Sequence[Piece], scene: ScannedTimeText) -> list[Piece]:
    """Join neighbouring parts of one date, like "Monday" "last week"."""
    joined: list[Piece] = []
    for piece in pieces:
        part = _join_to_last(joined, piece, scene) if isinstance(piece, DatePart) else None
        joined.append(part or piece)
    return joined


def _join_to_last(joined: list[Piece], part: DatePart, scene: ScannedTimeText) -> DatePart | None:
    """Take the pieces off the end of a list that are one date with a part; None: it stands alone.

    A modifier between two ends of a range ("from Monday until, to Friday") says nothing that the
    link between them does not say, and goes.
    """
    last = joined[-1] if joined else None
    if isinstance(last, DatePart):
        merged = _merge_beside(last, part, scene)
        if merged is not None:
            joined.pop()
        return merged
    before = joined[-2] if len(joined) > 1 else None
    if last is None or not isinstance(before, DatePart):
        return None
    merged = _join_over(before, last, part, scene)
    if merged is not None:
        del joined[-2:]
        return merged
    opening = joined[-3] if len(joined) > 2 else None
    is_opened = isinstance(opening, TimeModifier) and opening.kind == "from"
    is_idle = last.suffix or (is_opened and last.kind == "until")
    if is_idle and scene.grammar.to.fullmatch(scene.low, before.end, part.at):
        joined.pop()
    return None


def _merge_beside(first: DatePart, second: DatePart, scene: ScannedTimeText) -> DatePart | None:
    """Merge two parts that stand side by side; None: they are two times."""
    if not 0 <= second.at - first.end <= _NARROW_GAP:
        return None
    gap = scene.low[first.end : second.at]
    merged = (
        _merge_parts(first, second, gap, scene.now) if scene.grammar.join.fullmatch(gap) else None
    )
    return replace(merged, at=first.at, end=second.end) if merged else None


def _join_over(
    first: DatePart, modifier: TimeModifier, second: DatePart, scene: ScannedTimeText
) -> DatePart | None:
    """Merge two parts over a range word ("verano de 2022")."""
    if modifier.kind != "from" or modifier.suffix or not 0 < second.at - first.end <= _GAP:
        return None
    gap = scene.low[first.end : second.at]
    merged = (
        _merge_parts(first, second, gap, scene.now) if scene.grammar.join.fullmatch(gap) else None
    )
    return replace(merged, at=first.at, end=second.end) if merged else None


def _merge_parts(first: DatePart, second: DatePart, gap: str, now: datetime) -> DatePart | None:
    """Merge two parts of one date, whichever comes first; None: no date has both."""
    if first.kind == "weekday" and second.kind == "date" and not first.hours:
        return second
    return _complete(first, second, gap, now) or _complete(second, first, gap, now)


def _complete(part: DatePart, other: DatePart, gap: str, now: datetime) -> DatePart | None:
    """Complete a part by what another says of it: its year, week, month or time of day."""
    is_free = part.lean is None and part.offset is None
    if part.kind in _YEARLY and part.year is None and part.lean is None:
        if other.kind == "year":
            return replace(part, year=other.year)
        if _is_unit(other, "year") and other.offset is not None and not other.edge:
            return replace(part, year=now.year + other.offset)
    if _is_unit(other, "week"):
        if part.kind == "weekday" and is_free:
            return replace(part, unit="week", offset=other.offset)
        if _is_unit(part, "weekend") and part.offset is None:
            return replace(part, offset=other.offset)
    is_day_of_month = part.kind == "dom" and part.offset is None
    if is_day_of_month and _is_unit(other, "month") and "," not in gap:
        return replace(part, offset=other.offset)
    takes_clock = part.kind in _CLOCKED and not part.last_day and not part.edge
    return _add_clock(part, other) if takes_clock and other.kind == "clock" else None


def _is_unit(part: DatePart, unit: str) -> bool:
    return part.kind == "unit" and part.unit == unit


def _add_clock(day: DatePart, time: DatePart) -> DatePart | None:
    if day.kind == "unit" and day.unit != "day":
        return None
    if not day.hours or not time.hours:
        return replace(day, hours=time.hours)
    first, last = time.hours
    if last - first > 60:
        return None
    late = day.hours[0] >= 720 and first < 720
    return replace(day, hours=(first + 720, last + 720) if late else time.hours)
