"""The state of one memory as devices exchange it, and the merge of two states of it.

A state has registers: one for the text with what it states, one for the status with its times, one
for each other field, and one for each tag, metadata key, quote and link. Every register has the stamp
of its last change: microseconds, and the actor that made it. ``RecordState.known_until`` tells up to which
stamp of each actor a state knows the changes of this memory. A new stamp is later than all that it
has seen, whatever the clock says. So what was changed on top of something is later than it.

``merge`` is commutative, associative and idempotent:

- The later stamp wins in each register, so changes of different registers of one memory are all kept.
- Of statuses that were set without knowledge of each other all stay in ``statuses``, and the one that
  takes most away counts (``_STATUS_RANK``). An undo knows what it undoes, and so replaces it.
- A text that lost against one of which its device knew nothing becomes a memory beside it
  (``MergedState.copies``). Its id follows from what it is a copy of: all devices make the same one.
- A text from which a purge took words wins over those that still have them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TypeAlias

from engrams.core import CONFLICT_OF, DERIVED_LINKS, Edge, EdgeType, Json, Record, Scope
from engrams.core.ids import check_id, derive_id_at_time_of
from engrams.errors import InputError
from engrams.transfer.formats import record_from_json, record_to_json

Stamp: TypeAlias = tuple[int, str]
"""Microseconds since 1970, and the actor that made the change."""
Link: TypeAlias = tuple[EdgeType, str, float]
"""Type, target and weight of a link."""

CONTENT = "content"
STATUS = "status"
NEVER: Stamp = (0, "")
"""Stamp of a register that was never set."""
TRAVELLING_LINKS = frozenset(EdgeType) - DERIVED_LINKS

CONTENT_FIELDS = frozenset(
    """
    text caption kind layer role speaker subject predicate object category triggers steps valid_from
    """.split()
)
STATUS_FIELDS = frozenset({"status", "superseded_by", "valid_to", "retired_at", "ended_at"})
STATUS_META = frozenset({"was", "was_retired", "went_with", "evicted"})
"""Metadata keys that belong to the status."""
_PREFIXES = ("tags", "meta", "evidence")
"""Fields of several elements; each has a register of its own, such as ``tags/HASH``."""
_LINK = "link/"
_LOCAL_FIELDS = frozenset({"id", "version", "access_count", "last_accessed"})
_STATUS_RANK = {"active": 0, "candidate": 0, "superseded": 1, "archived": 2, "forgotten": 3}
_COPY_DIGEST = 10


@dataclass(frozen=True, slots=True)
class RecordState:
    """State of one memory: values, stamps and what they know."""

    id: str
    values: Mapping[str, Json]
    """Value by register; a register without one was emptied, such as a tag that was removed."""
    stamps: Mapping[str, Stamp]
    known_until: Mapping[str, int]
    """Microseconds of the last change of each actor that this state knows."""
    redactions: int = 0
    """Number of purges that took words from the text."""
    is_cleaned: bool = False
    """True: a purge made the text's last change, and no person."""
    statuses: tuple[tuple[Stamp, Json], ...] = ()
    """Statuses that were set without knowledge of each other; empty: the one in ``values`` alone."""

    def next_stamp(self, moment: int, actor: str) -> Stamp:
        """Return a stamp that is later than all that this state has seen."""
        return max(moment, max(self.known_until.values(), default=0) + 1), actor

    def knows(self, stamp: Stamp) -> bool:
        """Return True for a change that this state has seen, even if it was replaced since."""
        return self.known_until.get(stamp[1], 0) >= stamp[0]

    def set_values(self, values: Mapping[str, Json], stamp: Stamp) -> RecordState:
        """Set registers; a value of None empties one."""
        new_values = {name: value for name, value in self.values.items() if name not in values}
        new_values |= {name: value for name, value in values.items() if value is not None}
        return replace(
            self,
            values=new_values,
            stamps={**self.stamps, **dict.fromkeys(values, stamp)},
            known_until={
                **self.known_until,
                stamp[1]: max(stamp[0], self.known_until.get(stamp[1], 0)),
            },
            statuses=() if STATUS in values else self.statuses,
        )


@dataclass(frozen=True, slots=True)
class MergedState:
    """Result of a merge."""

    state: RecordState
    copies: tuple[RecordState, ...] = ()
    """Memories that hold texts which lost."""


# --------------------------------------------------------------------------------------------------
# merging


def merge(local: RecordState, remote: RecordState) -> MergedState:
    """Merge two states of one memory."""
    values: dict[str, Json] = {}
    stamps: dict[str, Stamp] = {}
    for name in (local.stamps.keys() | remote.stamps.keys()) - {CONTENT, STATUS}:
        winner = max(
            (local, remote),
            key=lambda state: (state.stamps.get(name, NEVER), _order(state.values.get(name))),
        )
        stamps[name] = winner.stamps[name]
        if name in winner.values:
            values[name] = winner.values[name]

    text_winner, text_loser = _rank_texts(local, remote)
    values[CONTENT] = text_winner.values[CONTENT]
    stamps[CONTENT] = text_winner.stamps[CONTENT]

    statuses = _merge_statuses(local, remote)
    stamps[STATUS], values[STATUS] = max(statuses, key=_rank_status)
    state = RecordState(
        id=local.id,
        values=values,
        stamps=stamps,
        known_until={
            actor: max(local.known_until.get(actor, 0), remote.known_until.get(actor, 0))
            for actor in local.known_until.keys() | remote.known_until.keys()
        },
        redactions=text_winner.redactions,
        is_cleaned=text_winner.is_cleaned,
        statuses=statuses if len(statuses) > 1 else (),
    )
    is_lost = (
        not text_winner.knows(text_loser.stamps[CONTENT])
        and _get_text(text_loser) != _get_text(text_winner)
        and not text_loser.is_cleaned
        # Its device takes the words out itself and sends it again.
        and (text_loser.redactions == text_winner.redactions or text_loser is local)
    )
    return MergedState(state, (_build_copy(text_loser),) if is_lost else ())


def _rank_texts(first: RecordState, second: RecordState) -> tuple[RecordState, RecordState]:
    """Return the state whose text wins, and the other one."""

    def rank(state: RecordState) -> tuple[int, Stamp, str]:
        return state.redactions, state.stamps[CONTENT], _order(state.values[CONTENT])

    return (first, second) if rank(first) >= rank(second) else (second, first)


def _merge_statuses(local: RecordState, remote: RecordState) -> tuple[tuple[Stamp, Json], ...]:
    """Merge the statuses of two states: what one of them replaced with knowledge goes."""
    ours, theirs = _list_statuses(local), _list_statuses(remote)
    statuses = [
        item
        for own, foreign, reader in ((ours, theirs, remote), (theirs, ours, local))
        for item in own
        if item in foreign or not reader.knows(item[0])
    ]
    # Both know and lack the other's only where an actor's stamps were used twice, by a copied home.
    statuses = statuses or [*ours, *theirs]
    latest: dict[str, tuple[Stamp, Json]] = {}
    for item in sorted(statuses, key=lambda item: item[0]):
        latest[_order(item[1])] = item
    return tuple(sorted(latest.values(), key=lambda item: (item[0], _order(item[1]))))


def _list_statuses(state: RecordState) -> tuple[tuple[Stamp, Json], ...]:
    return state.statuses or ((state.stamps[STATUS], state.values[STATUS]),)


def _rank_status(item: tuple[Stamp, Json]) -> tuple[int, Stamp, str]:
    stamp, value = item
    return _STATUS_RANK.get(value["status"], 0), stamp, _order(value)


def _build_copy(lost: RecordState) -> RecordState:
    """Build the memory that keeps a text which lost, beside the one that won."""
    stamp = lost.stamps[CONTENT]
    digest = blake2b(_order(lost.values[CONTENT]).encode(), digest_size=_COPY_DIGEST).hexdigest()
    kept_fields = (
        "recorded_at",
        "provenance",
        "scope",
        "session",
        "confidence",
        "trust",
        "importance",
    )
    values: dict[str, Json] = {
        name: lost.values[name] for name in kept_fields if name in lost.values
    }
    values |= {name: value for name, value in lost.values.items() if name.startswith("evidence/")}
    values |= {
        CONTENT: lost.values[CONTENT],
        STATUS: {"status": "active"},
        **_split_elements("meta", {CONFLICT_OF: lost.id}),
        f"{_LINK}{EdgeType.CONTRADICTS}/{lost.id}": 1.0,
    }
    return RecordState(
        id=derive_id_at_time_of(lost.id, f"{lost.id} {stamp} {digest}"),
        values=values,
        stamps=dict.fromkeys(values, stamp),
        known_until={stamp[1]: stamp[0]},
        redactions=lost.redactions,
    )


def _get_text(state: RecordState) -> tuple[str, str]:
    content = state.values[CONTENT]
    return content.get("text", ""), content.get("caption", "")


def _order(value: Json) -> str:
    """Return a text by which values are compared where their stamps are equal."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


# --------------------------------------------------------------------------------------------------
# from records, and back


def split_record(record: Record, links: Iterable[Link]) -> dict[str, Json]:
    """Split a record and its outgoing links into values by register."""
    data = {
        name: value
        for name, value in _to_plain(record_to_json(record)).items()
        if name not in _LOCAL_FIELDS
    }
    meta = data.get("meta", {})
    values: dict[str, Json] = {
        CONTENT: {name: data.pop(name) for name in CONTENT_FIELDS if name in data},
        STATUS: {name: data.pop(name) for name in STATUS_FIELDS if name in data}
        | {name: meta[name] for name in STATUS_META if name in meta},
    }
    for name in _PREFIXES:
        values |= _split_elements(name, data.pop(name, ()))
    values |= {f"{_LINK}{kind}/{target}": weight for kind, target, weight in links}
    values |= data
    values["scope"] = list(record.scope.labels[len(record.scope.owner.labels) :])
    return values


def join_record(state: RecordState, owner: Scope) -> tuple[Record, tuple[Link, ...]]:
    """Put a record and its outgoing links together from a state.

    InputError: it is no state of a memory.
    """
    try:
        status = state.values[STATUS]
        data: dict[str, Json] = {
            "id": check_id(state.id),
            **state.values[CONTENT],
            **{name: value for name, value in status.items() if name in STATUS_FIELDS},
        }
        elements: dict[str, list[list[Json]]] = {name: [] for name in _PREFIXES}
        links: list[Link] = []
        for name, value in state.values.items():
            section, slash, key = name.partition("/")
            if slash and section == "link":
                kind, _, target = key.partition("/")
                links.append((EdgeType(kind), target, float(value)))
            elif slash:
                elements[section].append(value)
            elif name not in (CONTENT, STATUS):
                data[name] = value
        data["scope"] = [*owner.labels, *data.get("scope", ())]
        # Two devices may add elements at one position: the order must not depend on the device.
        data["tags"] = [tag for _, tag in sorted(elements["tags"])]
        data["evidence"] = [
            {"quote": quote, "source": source, "speaker": speaker}
            for _, source, quote, speaker in sorted(elements["evidence"])
        ]
        data["meta"] = dict(elements["meta"]) | {
            name: value for name, value in status.items() if name not in STATUS_FIELDS
        }
        return record_from_json(data), tuple(sorted(links))
    except (ValueError, KeyError, TypeError) as problem:
        raise InputError(f"The memory {state.id:.40} cannot be read: {problem}.") from None


def list_changed_registers(field: str, before: Json, after: Json) -> Iterable[str]:
    """List the registers that a change of one field of a record has changed.

    ``before`` and ``after``: as the history of a record tells them.
    """
    if field in CONTENT_FIELDS:
        return (CONTENT,)
    if field in STATUS_FIELDS:
        return (STATUS,)
    if field not in _PREFIXES:
        return () if field in _LOCAL_FIELDS else (field,)
    old, new = _split_elements(field, before or ()), _split_elements(field, after or ())
    names = old.keys() ^ new.keys()
    if field == "meta":
        names |= {name for name in old.keys() & new.keys() if old[name] != new[name]}
        if any((before or {}).get(key) != (after or {}).get(key) for key in STATUS_META):
            names.add(STATUS)
    return names


def _split_elements(field: str, elements: Json) -> dict[str, Json]:
    """Split a field of several elements into a value for each.

    Their registers are named by hashes: where only stamps are kept, a purge must find no word.
    """
    if field == "meta":
        return {
            _name_element(field, key): [key, value]
            for key, value in dict(elements).items()
            if key not in STATUS_META
        }
    if field == "tags":
        return {_name_element(field, tag): [at, tag] for at, tag in enumerate(elements)}
    return {
        _name_element(field, item["source"], item["quote"]): [
            at,
            item["source"],
            item["quote"],
            item["speaker"],
        ]
        for at, item in enumerate(elements)
    }


def _name_element(field: str, *parts: str) -> str:
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return f"{field}/{blake2b(text, digest_size=8).hexdigest()}"


def _to_plain(data: Json) -> Json:
    """Return a value as JSON gives it back: lists for tuples, texts for enums."""
    return json.loads(json.dumps(data, default=_plain_value))


def _plain_value(value: object) -> Json:
    return dict(value) if isinstance(value, Mapping) else list(value)  # type: ignore[call-overload]


def list_links(edges: Iterable[Edge]) -> tuple[Link, ...]:
    """List those of a record's outgoing edges that travel."""
    return tuple(
        (edge.type, edge.target, edge.weight) for edge in edges if edge.type in TRAVELLING_LINKS
    )


def name_links(links: Iterable[Link]) -> set[str]:
    """Return the names of the registers of links."""
    return {f"{_LINK}{kind}/{target}" for kind, target, _ in links}


def is_link(register: str) -> bool:
    return register.startswith(_LINK)


# --------------------------------------------------------------------------------------------------
# stamps as JSON


def pack_stamps(state: RecordState) -> dict[str, Json]:
    """Pack what a state has beside its values; the most common stamp stands once."""
    common, _ = Counter(state.stamps.values()).most_common(1)[0]
    packed: dict[str, Json] = {"seen": dict(state.known_until), "most": list(common)}
    stamps_apart = {
        name: [*stamp, *(() if name in state.values else (1,))]
        for name, stamp in state.stamps.items()
        if stamp != common or name not in state.values or name.startswith(_LINK)
    }
    if stamps_apart:
        packed["other"] = stamps_apart
    if state.redactions:
        packed["redactions"] = state.redactions
    if state.is_cleaned:
        packed["cleaned"] = 1
    if state.statuses:
        packed["statuses"] = [[*stamp, value] for stamp, value in state.statuses]
    return packed


def unpack_stamps(
    record_id: str, values: Mapping[str, Json], packed: Mapping[str, Json]
) -> RecordState:
    """Put a state together from values and packed stamps."""
    stamps_apart = {name: _read_stamp(stamp) for name, stamp in packed.get("other", {}).items()}
    return RecordState(
        id=record_id,
        values=values,
        stamps=dict.fromkeys(values, _read_stamp(packed["most"])) | stamps_apart,
        known_until={str(actor): int(moment) for actor, moment in packed["seen"].items()},
        redactions=int(packed.get("redactions", 0)),
        is_cleaned=bool(packed.get("cleaned")),
        statuses=tuple(
            ((int(moment), str(actor)), value)
            for moment, actor, value in packed.get("statuses", ())
        ),
    )


def list_known_links(packed: Mapping[str, Json]) -> set[str]:
    """List the registers of the links that a record had when its stamps were packed."""
    return {
        name
        for name, stamp in packed.get("other", {}).items()
        if name.startswith(_LINK) and len(stamp) == len(NEVER)
    }


def _read_stamp(value: Json) -> Stamp:
    return int(value[0]), str(value[1])
