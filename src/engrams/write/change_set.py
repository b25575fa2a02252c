"""Changes that a digest collects for one batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import Any, assert_never

from engrams.core import (
    ENDS,
    LAYER_OF,
    PREREQUISITES,
    REFINES,
    WARNINGS,
    DerivedMemory,
    Edge,
    EdgeType,
    Evidence,
    Provenance,
    Record,
    Scope,
    Status,
    Vector,
    clock,
)
from engrams.core.ids import derive_id_at_time_of, new_id
from engrams.extract.candidate import CandidateStatement
from engrams.extract.policy import StoragePolicyDecision
from engrams.extract.predicate_slots import canonical_predicate
from engrams.frozen_data import dataclass
from engrams.ports import BEGIN, JobSpec, NewRecord, RecordChange, WriteBatch
from engrams.write.reconcile import ReconciliationResult

_MOST_EVIDENCE = 8
_MOST_REINFORCEMENTS = 20


def derived_id(candidate: CandidateStatement) -> str:
    """Return the candidate's record id, stable across runs.

    It has the time of its source.
    """
    if candidate.id:
        return candidate.id
    source = candidate.sources[0] if candidate.sources else ""
    stamp = (
        source if len(source) == 26 else new_id(candidate.said_at or clock.parse_time("1970-01-01"))
    )
    return derive_id_at_time_of(stamp, f"{source}\x1f{candidate.key}")


@dataclass(slots=True)
class DigestChangeSet:
    """Changes of one extraction run, visible to its later statements.

    ``current``: records as they are now; ``created``: new ones; ``originals``: stored ones before
    the changes; ``actions``: action and reason by id. ``contradicts``: what replaces a statement is
    also linked with it as its contradiction.
    """

    owner: Scope
    scope: Scope
    now: datetime
    current: dict[str, Record] = field(default_factory=dict)
    created: dict[str, Record] = field(default_factory=dict)
    originals: dict[str, Record] = field(default_factory=dict)
    actions: dict[str, tuple[str, str]] = field(default_factory=dict)
    edges: dict[tuple[str, str, EdgeType], Edge] = field(default_factory=dict)
    derived: list[DerivedMemory] = field(default_factory=list)
    contradicts: bool = False
    jobs: list[JobSpec] = field(default_factory=list)

    def add_stored(self, records: Iterable[Record]) -> list[Record]:
        """Register records; return each once, as changed so far."""
        found: dict[str, Record] = {}
        for record in records:
            if record.id not in self.created:
                self.originals.setdefault(record.id, record)
            found[record.id] = self.current.setdefault(record.id, record)
        return list(found.values())

    def find_successors(self, ids: Iterable[str]) -> list[Record]:
        """Return records as this digest left or replaced them."""
        found: dict[str, Record] = {}
        for name in ids:
            record = self.current[name]
            while record.status is Status.SUPERSEDED and record.superseded_by in self.created:
                record = self.created[record.superseded_by]
            found[record.id] = record
        return list(found.values())

    def apply(
        self, outcome: ReconciliationResult, decision: StoragePolicyDecision, source: Record
    ) -> str:
        """Apply one reconciliation; return the id of the resulting record."""
        candidate = outcome.candidate
        if outcome.verdict == "keep":
            return self._reinforce(outcome, decision, source)
        begins = self._find_future_start(candidate)
        ends: tuple[Record, ...] = ()
        if outcome.verdict in ("replace", "refine", "remove") and begins is not None:
            # Until then what is known stays true; what was only to come gives way at once, and
            # never was.
            plans = tuple(
                one
                for one in outcome.targets
                if one.valid_from is not None and one.valid_from > self.now
            )
            ends = (
                () if outcome.retract else tuple(one for one in outcome.targets if one not in plans)
            )
            outcome = ReconciliationResult(
                "add", candidate, reason=f"so from {begins:%Y-%m-%d}; {outcome.reason}"
            )
            outcome = (
                replace(outcome, verdict="replace", targets=plans, retract=True)
                if plans
                else outcome
            )
        new = self._build_record(outcome, decision, source)
        held = new.status is Status.CANDIDATE
        if held and outcome.verdict in ("replace", "refine", "remove"):
            new = replace(
                new, meta={**new.meta, "awaits": [record.id for record in outcome.targets]}
            )
            outcome = ReconciliationResult("add", candidate, reason=outcome.reason)
        match outcome.verdict:
            case "add" | "keep":
                pass
            case "replace" | "remove":
                new = self._close_targets(outcome, new)
            case "refine":
                new = self._refine_targets(outcome, new)
            case "conflict":
                for target in outcome.targets:
                    self._add_edge(new.id, target.id, EdgeType.CONTRADICTS)
            case _ as never:
                assert_never(never)
        if begins is not None and ends and not held:
            new = self._schedule_ends(new, begins, ends)
        if outcome.after is not None:
            self._add_edge(outcome.after.id, new.id, EdgeType.SUPERSEDES)
        self.created[new.id] = new
        self.current[new.id] = new
        for origin in candidate.sources or (source.id,):
            self._add_edge(new.id, origin, EdgeType.DERIVED_FROM)
        verdict = "hold" if held else outcome.verdict
        replaced = (
            tuple(target.id for target in outcome.targets)
            if verdict in ("replace", "refine", "remove")
            else ()
        )
        self.derived.append(
            DerivedMemory(
                id=new.id,
                kind=new.kind,
                text=new.text,
                verdict=verdict,
                replaces=replaced,
                reason=f"{outcome.reason}; {decision.reason}"[:240],
            )
        )
        return new.id

    def remove(self, targets: Sequence[Record], reason: str) -> None:
        """End statements without a replacement."""
        for target in targets:
            self._add_change(
                target,
                "remove",
                reason,
                status=Status.SUPERSEDED,
                valid_to=self.now,
                ended_at=self.now,
            )
            self.derived.append(
                DerivedMemory(
                    id=target.id,
                    kind=target.kind,
                    text=target.text,
                    verdict="remove",
                    replaces=(),
                    reason=reason[:240],
                )
            )

    def insert_past_value(
        self, outcome: ReconciliationResult, source: Record
    ) -> ReconciliationResult:
        """Fit an older value between the known past values.

        It ends where the next value begins, and the value before it ends where it begins. The
        slot's superseded statements must be registered.
        """
        candidate = outcome.candidate
        begun = candidate.valid_from or candidate.said_at or source.recorded_at
        slot = [
            one
            for one in self.current.values()
            if one.status is Status.SUPERSEDED
            and one.retired_at is None
            and one.subject == candidate.subject
            and canonical_predicate(one.predicate) == canonical_predicate(candidate.predicate)
        ]
        for one in slot:
            if one.valid_to is not None and _start_time(one) < begun < one.valid_to:
                fields = {
                    "valid_to": begun,
                    "ended_at": source.recorded_at,
                    "superseded_by": derived_id(candidate),
                }
                self._add_change(one, "shorten", "another value came between", **fields)
        after = min(
            (one for one in slot if _start_time(one) > begun), key=_start_time, default=None
        )
        if after is None or outcome.until is None or _start_time(after) >= outcome.until:
            return outcome
        return replace(outcome, until=_start_time(after), after=after)

    def supersede_note(self, note: Record, fact: Record) -> None:
        """Supersede a note whose only statement was ``fact``."""
        self._add_change(
            note,
            "supersede",
            f"all it said was superseded by {fact.superseded_by}",
            status=Status.SUPERSEDED,
            valid_to=fact.valid_to,
            ended_at=fact.ended_at,
            retired_at=fact.retired_at,
            superseded_by=fact.superseded_by,
        )

    def link(self, source: str, target: str, type: EdgeType, weight: float) -> None:
        """Add an edge between two records, with a weight of 0..1."""
        self.edges[source, target, type] = Edge(
            owner=self.owner, source=source, target=target, type=type, weight=weight
        )

    def end_by_turn(self, fact: Record, turn: Record, reason: str) -> None:
        """End a fact when a later turn was said."""
        said = turn.recorded_at
        end = max(said, fact.valid_from) if fact.valid_from else said
        self._add_change(
            fact,
            "supersede",
            reason,
            status=Status.SUPERSEDED,
            valid_to=end,
            ended_at=said,
            superseded_by=turn.id,
        )

    def to_batch(self, actor: str, reason: str, vectors: Mapping[str, Vector]) -> WriteBatch:
        """Return all changes as one batch.

        A change has its own reason; what is new has that of the batch.
        """
        changes = [
            RecordChange(
                owner=self.owner,
                id=name,
                fields=fields,
                action=self.actions[name][0],
                expect=old.version,
                reason=self.actions[name][1][:240],
            )
            for name, old in self.originals.items()
            if name in self.actions and (fields := _changed_fields(old, self.current[name]))
        ]
        puts = tuple(
            NewRecord(record, vector=vectors.get(record.id)) for record in self.created.values()
        )
        changed = "; ".join(dict.fromkeys(text for _, text in self.actions.values()))
        why = reason if puts else changed or reason
        return WriteBatch(
            actor=actor,
            reason=why[:240],
            at=self.now,
            puts=puts,
            changes=tuple(changes),
            edges=tuple(self.edges.values()),
            jobs=tuple(self.jobs),
        )

    def _find_future_start(self, candidate: CandidateStatement) -> datetime | None:
        begins = candidate.valid_from
        return (
            begins
            if begins is not None and begins > max(self.now, candidate.said_at or self.now)
            else None
        )

    def _build_record(
        self, outcome: ReconciliationResult, decision: StoragePolicyDecision, source: Record
    ) -> Record:
        candidate = outcome.candidate
        meta: dict[str, Any] = {}
        if not candidate.polarity:
            meta["polarity"] = False
        if candidate.effect in ("ends", "corrects"):
            meta["effect"] = candidate.effect
        for name, value in (
            ("event", candidate.effect == "changes" or candidate.category == "event"),
            ("hearsay", candidate.hearsay),
            ("whole", candidate.covers_source),
        ):
            if value:
                meta[name] = True
        if candidate.avoid:
            meta["avoid"] = candidate.avoid
        for name in (PREREQUISITES, WARNINGS):
            if told := getattr(candidate, name):
                meta[name] = list(told)
        if candidate.modality != "asserted":
            meta["modality"] = candidate.modality
        status = Status.ACTIVE
        if decision.action in ("commit_at_session_end", "require_repetition"):
            status = Status.CANDIDATE
            meta["hold"] = decision.action
            if decision.awaits_review:
                meta["review"] = True
        elif outcome.until is not None:
            status = Status.SUPERSEDED
        return Record(
            id=derived_id(candidate),
            scope=self.scope,
            kind=candidate.kind,
            text=candidate.text,
            recorded_at=candidate.said_at or source.recorded_at,
            layer=LAYER_OF[candidate.kind],
            status=status,
            role=source.role,
            speaker=source.speaker,
            session=source.session,
            external_id=f"x:{source.id}:{candidate.key}",
            valid_from=candidate.valid_from,
            valid_to=outcome.until or candidate.valid_to,
            ended_at=(candidate.said_at or source.recorded_at) if outcome.until else None,
            superseded_by=outcome.after.id if outcome.after else "",
            subject=candidate.subject,
            predicate=candidate.predicate,
            object=candidate.object,
            category=candidate.category,
            tags=candidate.tags,
            triggers=candidate.triggers,
            steps=candidate.steps,
            evidence=candidate.evidence,
            provenance=Provenance(
                source.provenance.channel, candidate.extractor, candidate.prompt, candidate.reason
            ),
            importance=candidate.importance,
            confidence=candidate.confidence,
            trust=candidate.trust,
            meta=meta,
        )

    def _close_targets(self, outcome: ReconciliationResult, new: Record) -> Record:
        """End the targets at the new start; a correction retires them."""
        said = new.recorded_at
        begun = new.valid_from or said
        for target in outcome.targets:
            self._add_edge(new.id, target.id, EdgeType.SUPERSEDES)
            if self.contradicts:
                self._add_edge(new.id, target.id, EdgeType.CONTRADICTS)
            if target.valid_from is not None and target.valid_from > self.now:
                self._release_ends(target)
            if outcome.retract:
                self._add_change(
                    target,
                    "retract",
                    outcome.reason,
                    status=Status.SUPERSEDED,
                    retired_at=said,
                    superseded_by=new.id,
                )
            else:
                end = max(begun, target.valid_from) if target.valid_from else begun
                end = min(end, target.valid_to) if target.valid_to else end
                self._add_change(
                    target,
                    "supersede",
                    outcome.reason,
                    status=Status.SUPERSEDED,
                    valid_to=end,
                    ended_at=said,
                    superseded_by=new.id,
                )
        for one in outcome.restores:
            self._add_change(
                one,
                "restore",
                outcome.reason,
                status=Status.ACTIVE,
                valid_to=None,
                ended_at=None,
                superseded_by="",
            )
        return new if outcome.retract else replace(new, valid_from=begun)

    def _schedule_ends(self, new: Record, begins: datetime, ends: Sequence[Record]) -> Record:
        """Schedule the job that ends old values when the new one begins."""
        for target in ends:
            self._add_change(
                target,
                "end",
                f"until {begins:%Y-%m-%d}",
                valid_to=begins,
                ended_at=new.recorded_at,
                superseded_by=new.id,
            )
        payload = {"scope": self.scope.key, "items": [new.id]}
        self.jobs.append(JobSpec(BEGIN, f"{self.owner.key}|{new.id}", payload, begins))
        return replace(new, meta={**new.meta, ENDS: [target.id for target in ends]})

    def _release_ends(self, plan: Record) -> None:
        """Undo planned ends whose plan was dropped."""
        for name in plan.meta.get(ENDS, ()):
            one = self.current.get(name)
            if one is not None and one.status is Status.ACTIVE and one.superseded_by == plan.id:
                self._add_change(
                    one, "go on", "the plan changed", valid_to=None, ended_at=None, superseded_by=""
                )

    def _refine_targets(self, outcome: ReconciliationResult, new: Record) -> Record:
        """Replace the targets by better words; keep their start and strength."""
        begun = [target.valid_from for target in outcome.targets if target.valid_from]
        for target in outcome.targets:
            self._add_edge(new.id, target.id, EdgeType.SUPERSEDES)
            self._add_change(
                target,
                "refine",
                outcome.reason,
                status=Status.SUPERSEDED,
                retired_at=new.recorded_at,
                superseded_by=new.id,
            )
        strength = 1 + max((target.strength for target in outcome.targets), default=0)
        meta = {**new.meta, REFINES: [target.id for target in outcome.targets]}
        return replace(
            new,
            valid_from=new.valid_from or (min(begun) if begun else None),
            strength=strength,
            meta=meta,
        )

    def _reinforce(
        self, outcome: ReconciliationResult, decision: StoragePolicyDecision, source: Record
    ) -> str:
        if not outcome.targets:
            return ""
        target = outcome.targets[0]
        seen = {item.source for item in target.evidence} | {
            item.get("source") for item in target.meta.get("reinforcements", ())
        }
        if source.id in seen:
            self.derived.append(
                DerivedMemory(
                    id=target.id,
                    kind=target.kind,
                    text=target.text,
                    verdict="keep",
                    replaces=(),
                    reason="learned from this before",
                )
            )
            return target.id
        entry = {
            "source": source.id,
            "session": source.session,
            "at": source.recorded_at.isoformat(),
        }
        meta = {
            **target.meta,
            "reinforcements": [*target.meta.get("reinforcements", ()), entry][
                -_MOST_REINFORCEMENTS:
            ],
        }
        values: dict[str, Any] = {
            "strength": target.strength + 1,
            "confidence": min(1.0, target.confidence + 0.05),
        }
        quotes = outcome.candidate.evidence or (
            Evidence(source.text[:200], source.id, source.speaker),
        )
        values["evidence"] = (*target.evidence, *quotes)[:_MOST_EVIDENCE]
        if target.status is Status.CANDIDATE and (
            decision.action == "commit_now" or not _stays_held(target, source)
        ):
            meta.pop("hold", None)
            values["status"] = Status.ACTIVE
        values["meta"] = meta
        self._add_change(target, "bump", outcome.reason, **values)
        self._add_edge(target.id, source.id, EdgeType.DERIVED_FROM)
        self.derived.append(
            DerivedMemory(
                id=target.id,
                kind=target.kind,
                text=target.text,
                verdict="keep",
                replaces=(),
                reason=outcome.reason,
            )
        )
        return target.id

    def _add_change(self, target: Record, action: str, reason: str, **values: Any) -> None:
        current = self.created.get(target.id) or self.current.get(target.id) or target
        changed = replace(current, **values)
        if target.id in self.created:
            self.created[target.id] = changed
        else:
            self.originals.setdefault(target.id, target)
            self.actions[target.id] = (action, reason)
        self.current[target.id] = changed

    def _add_edge(self, source: str, target: str, type: EdgeType) -> None:
        self.edges[source, target, type] = Edge(self.owner, source, target, type)


def _start_time(record: Record) -> datetime:
    return record.valid_from or record.recorded_at


def _stays_held(held: Record, source: Record) -> bool:
    """True if a repeated held statement stays held.

    Unreviewed, or until the session in which it was first said ends.
    """
    same = bool(source.session) and source.session == held.session
    return bool(held.meta.get("review")) or (
        same and held.meta.get("hold") == "commit_at_session_end"
    )


def _changed_fields(old: Record, new: Record) -> dict[str, Any]:
    names = (
        "status",
        "valid_from",
        "valid_to",
        "ended_at",
        "retired_at",
        "superseded_by",
        "strength",
        "confidence",
        "evidence",
        "meta",
    )
    return {name: getattr(new, name) for name in names if getattr(new, name) != getattr(old, name)}
