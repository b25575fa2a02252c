"""Changes that a digest collects for one batch, visible to its later statements.

``DigestChangeSet.apply`` carries out one verdict of the reconciliation; ``to_batch`` returns all
changes as one transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, assert_never

from engrams.core import (
    DROPPED,
    ENDS,
    LAYER_OF,
    OUTDATES,
    PREREQUISITES,
    REFINES,
    RULE_KINDS,
    TIMES,
    UTC_OFFSET,
    WARNINGS,
    DerivedMemory,
    Edge,
    EdgeType,
    Evidence,
    Json,
    Meta,
    Provenance,
    Record,
    Scope,
    Status,
    Vector,
    build_tag_edges,
    clock,
    inherited_meta,
)
from engrams.core.clock import utc
from engrams.core.code_anchors import read_anchors
from engrams.core.ids import derive_id_at_time_of, new_id
from engrams.core.meta_keys import REINFORCEMENTS, note_reinforcement
from engrams.core.statement_form import form_statement
from engrams.extract.candidate import CandidateStatement
from engrams.extract.policy import StoragePolicyDecision
from engrams.extract.predicate_slots import canonical_predicate
from engrams.frozen_data import replace
from engrams.ports import BEGIN, ENFORCE, JobSpec, NewRecord, RecordChange, WriteBatch
from engrams.settings import ScopeCapSettings
from engrams.write.reconcile_rules import ReconciliationResult

_MAX_EVIDENCE = 8
_MAX_REASON = 240
_ID_LENGTH = 26
_REPLACING = ("replace", "refine")
"""Verdicts that end the statements they name."""
_CHANGED_FIELDS = (
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
"""Fields of a stored statement that a digest may change."""


def derived_id(candidate: CandidateStatement) -> str:
    """Return the id of the candidate's record, the same in every run.

    It begins with the time of its source, so that records stay ordered by when they were said.
    """
    if candidate.id:
        return candidate.id
    source_id = candidate.sources[0] if candidate.sources else ""
    stamp = (
        source_id
        if len(source_id) == _ID_LENGTH
        else new_id(candidate.said_at or clock.parse_time("1970-01-01"))
    )
    return derive_id_at_time_of(stamp, f"{source_id}\x1f{candidate.key}")


@dataclass(slots=True)
class DigestChangeSet:
    """Changes of one digest to one owner's memory."""

    owner: Scope
    scope: Scope
    """Scope of the next statements."""
    now: datetime
    current: dict[str, Record] = field(default_factory=dict)
    """Every record met so far, as it is now, by id."""
    created: dict[str, Record] = field(default_factory=dict)
    """New records by id."""
    reasons: dict[str, str] = field(default_factory=dict)
    """Reason of the policy by the id of the new record."""
    originals: dict[str, Record] = field(default_factory=dict)
    """Stored records by id, before the changes."""
    actions: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Action and reason of each change, by the id of the stored record."""
    edges: dict[tuple[str, str, EdgeType], Edge] = field(default_factory=dict)
    unlinked: dict[tuple[str, str, EdgeType], Edge] = field(default_factory=dict)
    """Stored edges that are removed."""
    derived: list[DerivedMemory] = field(default_factory=list)
    contradicts: bool = False
    """A statement that replaces another is also linked with it as its contradiction."""
    jobs: list[JobSpec] = field(default_factory=list)

    def add_stored(self, records: Iterable[Record]) -> list[Record]:
        """Register records; return each once, as changed so far."""
        registered: dict[str, Record] = {}
        for record in records:
            if record.id not in self.created:
                self.originals.setdefault(record.id, record)
            registered[record.id] = self.current.setdefault(record.id, record)
        return list(registered.values())

    def find_successors(self, ids: Iterable[str]) -> list[Record]:
        """Return records as this digest left them, or what it replaced them by."""
        successors: dict[str, Record] = {}
        for record_id in ids:
            record = self.current[record_id]
            while record.status is Status.SUPERSEDED and record.superseded_by in self.created:
                record = self.created[record.superseded_by]
            successors[record.id] = record
        return list(successors.values())

    # ----------------------------------------------------------------------------------------------
    # verdicts

    def apply(
        self, outcome: ReconciliationResult, decision: StoragePolicyDecision, source: Record
    ) -> str:
        """Apply one reconciliation; return the id of the record that holds the statement now.

        ``source``: the record in which it was said. Empty id: nothing holds it.
        """
        candidate = outcome.candidate
        if outcome.verdict == "keep":
            return self._reinforce(outcome, decision, source)
        if outcome.verdict == "remove":
            for target in outcome.targets:
                self.end_by_turn(target, source, outcome.reason)
                self._report(target, "remove", outcome.reason)
            return ""
        begins = self._find_future_start(candidate)
        later_ends: tuple[Record, ...] = ()
        if begins is not None and outcome.verdict in _REPLACING:
            outcome, later_ends = self._defer(outcome, begins)
        record = self._build_record(outcome, decision, source)
        is_held = record.status is Status.CANDIDATE
        if is_held and outcome.verdict in _REPLACING:
            awaits = [target.id for target in outcome.targets]
            record = replace(record, meta={**record.meta, "awaits": awaits})
            outcome = ReconciliationResult("add", candidate, reason=outcome.reason)
        record = _inherit(record, outcome)
        record = self._change_targets(outcome, record)
        if begins is not None and later_ends and not is_held:
            record = self._schedule_ends(record, begins, later_ends)
        if outcome.after is not None:
            self._add_edge(outcome.after.id, record.id, EdgeType.SUPERSEDES)
        self.created[record.id] = record
        self.current[record.id] = record
        self.reasons[record.id] = decision.reason
        for source_id in candidate.sources or (source.id,):
            self._add_edge(record.id, source_id, EdgeType.DERIVED_FROM)
        verdict = "hold" if is_held else outcome.verdict
        replaced = outcome.targets if verdict in _REPLACING else ()
        self._report(
            record,
            verdict,
            f"{outcome.reason}; {decision.reason}",
            replaces=tuple(target.id for target in replaced),
        )
        return record.id

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
            self._report(target, "remove", reason)

    def insert_past_value(
        self, outcome: ReconciliationResult, source: Record
    ) -> ReconciliationResult:
        """Fit an older value between the known past values of its slot.

        It ends where the next value begins, and the value before it ends where it begins. The
        slot's superseded statements must be registered.
        """
        candidate = outcome.candidate
        begins = candidate.valid_from or candidate.said_at or source.recorded_at
        predicate = canonical_predicate(candidate.predicate)
        past_values = [
            record
            for record in self.current.values()
            if record.status is Status.SUPERSEDED
            and record.retired_at is None
            and record.subject == candidate.subject
            and canonical_predicate(record.predicate) == predicate
        ]
        for record in past_values:
            if record.valid_to is not None and _start_time(record) < begins < record.valid_to:
                self._add_change(
                    record,
                    "shorten",
                    "another value came between",
                    valid_to=begins,
                    ended_at=source.recorded_at,
                    superseded_by=derived_id(candidate),
                )
        later_values = [record for record in past_values if _start_time(record) > begins]
        if not later_values or outcome.until is None:
            return outcome
        following = min(later_values, key=_start_time)
        if _start_time(following) >= outcome.until:
            return outcome
        return replace(outcome, until=_start_time(following), after=following)

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

    def retract_for(self, wrong: Record, right: Record, reason: str) -> None:
        """Retract a statement that was never true, in favour of one that is there."""
        self._link_replaced(right, wrong)
        self._add_change(
            wrong,
            "retract",
            reason,
            status=Status.SUPERSEDED,
            retired_at=right.recorded_at,
            superseded_by=right.id,
        )

    def end_by_turn(self, fact: Record, turn: Record, reason: str) -> None:
        """End a fact when a later turn was said."""
        said_at = turn.recorded_at
        self._add_change(
            fact,
            "supersede",
            reason,
            status=Status.SUPERSEDED,
            valid_to=max(said_at, fact.valid_from) if fact.valid_from else said_at,
            ended_at=said_at,
            superseded_by=turn.id,
        )

    def note_ending(self, later: Record, ending: Mapping[str, Json]) -> None:
        """Note on a message what it ends, or may end; ``ending``: one entry of ``OUTDATES``."""
        (current,) = self.add_stored([later])
        endings = [
            entry for entry in current.meta.get(OUTDATES, ()) if entry.get("id") != ending["id"]
        ]
        meta = {**current.meta, OUTDATES: [*endings, dict(ending)]}
        self._add_change(current, "outdate", "it may end what was said before", meta=meta)

    def note_dropped(self, source: Record, reasons: Sequence[str]) -> None:
        """Note on a message why the policy dropped statements of it."""
        (current,) = self.add_stored([source])
        meta = {**current.meta, DROPPED: len(reasons)}
        self._add_change(current, "drop", "; ".join(reasons), meta=meta)

    def link(self, source_id: str, target_id: str, type: EdgeType, weight: float) -> None:
        """Add an edge between two records, with a weight of 0..1."""
        self.edges[source_id, target_id, type] = Edge(
            owner=self.owner, source=source_id, target=target_id, type=type, weight=weight
        )

    def unlink(self, edge: Edge) -> None:
        """Remove an edge, stored or added by this digest."""
        key = (edge.source, edge.target, edge.type)
        self.edges.pop(key, None)
        self.unlinked[key] = edge

    def to_batch(self, actor: str, reason: str, vectors: Mapping[str, Vector]) -> WriteBatch:
        """Return all changes as one batch.

        A change has its own reason, a new record that of the batch and of the policy. ``vectors``:
        by record id.
        """
        changes = [
            RecordChange(
                owner=self.owner,
                id=record_id,
                fields=fields,
                action=self.actions[record_id][0],
                expect=original.version,
                reason=self.actions[record_id][1][:_MAX_REASON],
            )
            for record_id, original in self.originals.items()
            if record_id in self.actions
            and (fields := _find_changes(original, self.current[record_id]))
        ]
        puts = tuple(
            NewRecord(
                record,
                vector=vectors.get(record.id),
                reason=f"{reason}; {self.reasons[record.id]}"[:_MAX_REASON],
            )
            for record in self.created.values()
        )
        change_reasons = "; ".join(dict.fromkeys(text for _, text in self.actions.values()))
        batch_reason = reason if puts else change_reasons or reason
        return WriteBatch(
            actor=actor,
            reason=batch_reason[:_MAX_REASON],
            at=self.now,
            puts=puts,
            changes=tuple(changes),
            edges=(*self.edges.values(), *self._build_tag_edges()),
            unlink=tuple(self.unlinked.values()),
            jobs=tuple(self.jobs),
        )

    def plan_caps(self, caps: ScopeCapSettings, attempts: int) -> None:
        """Add the jobs that enforce caps of rules and entries, where some became active."""
        scope_keys = {
            record.scope.key
            for record_id, record in self.current.items()
            if (caps.entries > 0 or (caps.rules and record.kind in RULE_KINDS))
            and record.status is Status.ACTIVE
            and (record_id in self.created or record_id in self.actions)
        }
        self.jobs += [
            JobSpec(ENFORCE, key, {"scope": key}, attempts=attempts) for key in sorted(scope_keys)
        ]

    def _build_tag_edges(self) -> Iterator[Edge]:
        """Build the edges from new records to their tags."""
        for record in self.created.values():
            yield from build_tag_edges(record, record.tags)

    # ----------------------------------------------------------------------------------------------
    # steps

    def _find_future_start(self, candidate: CandidateStatement) -> datetime | None:
        """Return when a statement begins to hold, if that is still to come."""
        begins = candidate.valid_from
        if begins is None or begins <= max(self.now, candidate.said_at or self.now):
            return None
        return begins

    def _defer(
        self, outcome: ReconciliationResult, begins: datetime
    ) -> tuple[ReconciliationResult, tuple[Record, ...]]:
        """Put off the end of the targets until a planned statement begins.

        Until then a known statement stays true. One that was only to come gives way at once: it
        never was. Returns the outcome for these, and the statements to end later.
        """
        plans = tuple(
            target
            for target in outcome.targets
            if target.valid_from is not None and target.valid_from > self.now
        )
        later_ends = (
            ()
            if outcome.retract
            else tuple(target for target in outcome.targets if target not in plans)
        )
        deferred = ReconciliationResult(
            "add", outcome.candidate, reason=f"so from {begins:%Y-%m-%d}; {outcome.reason}"
        )
        if plans:
            deferred = replace(deferred, verdict="replace", targets=plans, retract=True)
        return deferred, later_ends

    def _build_record(
        self, outcome: ReconciliationResult, decision: StoragePolicyDecision, source: Record
    ) -> Record:
        """Build the record of a new statement."""
        candidate = outcome.candidate
        meta = {
            **inherited_meta(source.meta),
            **_build_meta(candidate),
            **_inherit_clock(source),
            **_inherit_anchors(candidate, source),
        }
        status = Status.ACTIVE
        if decision.action in ("commit_at_session_end", "require_repetition"):
            status = Status.CANDIDATE
            meta["hold"] = decision.action
            if decision.awaits_review:
                meta["review"] = True
        elif outcome.until is not None:
            status = Status.SUPERSEDED
        said_at = candidate.said_at or source.recorded_at
        return Record(
            id=derived_id(candidate),
            scope=self.scope,
            kind=candidate.kind,
            text=candidate.text,
            recorded_at=said_at,
            layer=LAYER_OF[candidate.kind],
            status=status,
            role=source.role,
            speaker=source.speaker,
            session=source.session,
            external_id=f"x:{source.id}:{candidate.key}",
            valid_from=candidate.valid_from and utc(candidate.valid_from),
            valid_to=outcome.until or (candidate.valid_to and utc(candidate.valid_to)),
            ended_at=said_at if outcome.until else None,
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
                source.provenance.channel,
                candidate.extractor,
                candidate.prompt,
                candidate.reason,
                source.provenance.files,
            ),
            importance=candidate.importance,
            confidence=candidate.confidence,
            trust=candidate.trust,
            meta=meta,
        )

    def _change_targets(self, outcome: ReconciliationResult, record: Record) -> Record:
        """Do to the targets what the verdict says; return the new record with what it takes over."""
        match outcome.verdict:
            case "add" | "keep" | "remove":
                return record
            case "replace":
                return self._close_targets(outcome, record)
            case "refine":
                return self._refine_targets(outcome, record)
            case "conflict":
                for target in outcome.targets:
                    self._add_edge(record.id, target.id, EdgeType.CONTRADICTS)
                return record
            case _ as never:
                assert_never(never)

    def _close_targets(self, outcome: ReconciliationResult, record: Record) -> Record:
        """End the targets at the new start; a correction retires them."""
        begins = record.valid_from or record.recorded_at
        for target in outcome.targets:
            if target.valid_from is not None and target.valid_from > self.now:
                self._release_ends(target)
            if outcome.retract:
                self.retract_for(target, record, outcome.reason)
                continue
            self._link_replaced(record, target)
            end = max(begins, target.valid_from) if target.valid_from else begins
            end = min(end, target.valid_to) if target.valid_to else end
            self._add_change(
                target,
                "supersede",
                outcome.reason,
                status=Status.SUPERSEDED,
                valid_to=end,
                ended_at=record.recorded_at,
                superseded_by=record.id,
            )
        for restored in outcome.restores:
            self._add_change(
                restored,
                "restore",
                outcome.reason,
                status=Status.ACTIVE,
                valid_to=None,
                ended_at=None,
                superseded_by="",
            )
        return record if outcome.retract else replace(record, valid_from=begins)

    def _link_replaced(self, record: Record, target: Record) -> None:
        self._add_edge(record.id, target.id, EdgeType.SUPERSEDES)
        if self.contradicts:
            self._add_edge(record.id, target.id, EdgeType.CONTRADICTS)

    def _refine_targets(self, outcome: ReconciliationResult, record: Record) -> Record:
        """Replace the targets by better words; keep their start and strength."""
        starts = [target.valid_from for target in outcome.targets if target.valid_from]
        for target in outcome.targets:
            self._add_edge(record.id, target.id, EdgeType.SUPERSEDES)
            self._add_change(
                target,
                "refine",
                outcome.reason,
                status=Status.SUPERSEDED,
                retired_at=record.recorded_at,
                superseded_by=record.id,
            )
        return replace(
            record,
            valid_from=record.valid_from or min(starts, default=None),
            strength=1 + max((target.strength for target in outcome.targets), default=0),
            meta={**record.meta, REFINES: [target.id for target in outcome.targets]},
        )

    def _schedule_ends(self, record: Record, begins: datetime, ends: Sequence[Record]) -> Record:
        """Schedule the job that ends old values when the new one begins."""
        for target in ends:
            self._add_change(
                target,
                "end",
                f"until {begins:%Y-%m-%d}",
                valid_to=begins,
                ended_at=record.recorded_at,
                superseded_by=record.id,
            )
        payload = {"scope": self.scope.key, "items": [record.id]}
        self.jobs.append(JobSpec(BEGIN, f"{self.owner.key}|{record.id}", payload, begins))
        return replace(record, meta={**record.meta, ENDS: [target.id for target in ends]})

    def _release_ends(self, plan: Record) -> None:
        """Undo planned ends whose plan was dropped."""
        for record_id in plan.meta.get(ENDS, ()):
            record = self.current.get(record_id)
            if (
                record is not None
                and record.status is Status.ACTIVE
                and record.superseded_by == plan.id
            ):
                self._add_change(
                    record,
                    "go on",
                    "the plan changed",
                    valid_to=None,
                    ended_at=None,
                    superseded_by="",
                )

    def _reinforce(
        self, outcome: ReconciliationResult, decision: StoragePolicyDecision, source: Record
    ) -> str:
        """Strengthen the statement that a candidate repeats; return its id, or an empty one."""
        if not outcome.targets:
            return ""
        target = outcome.targets[0]
        reinforcements = target.meta.get(REINFORCEMENTS, ())
        source_ids = {item.source for item in target.evidence}
        source_ids.update(entry.get("source") for entry in reinforcements)
        if source.id in source_ids:
            self._report(target, "keep", "learned from this before")
            return target.id
        entry = {
            "source": source.id,
            "session": source.session,
            "at": source.recorded_at.isoformat(),
        }
        meta = note_reinforcement(target.meta, entry)
        quotes = outcome.candidate.evidence or (
            Evidence(source.text[:200], source.id, source.speaker),
        )
        values: dict[str, Any] = {
            "strength": target.strength + 1,
            "confidence": min(1.0, target.confidence + 0.05),
            "evidence": (*target.evidence, *quotes)[:_MAX_EVIDENCE],
        }
        if target.status is Status.CANDIDATE and (
            decision.action == "commit_now" or not _stays_held(target, source)
        ):
            meta.pop("hold", None)
            values["status"] = Status.ACTIVE
        values["meta"] = meta
        self._add_change(target, "bump", outcome.reason, **values)
        self._add_edge(target.id, source.id, EdgeType.DERIVED_FROM)
        self._report(target, "keep", outcome.reason)
        return target.id

    def _add_change(self, target: Record, action: str, reason: str, **values: Any) -> None:
        """Change a record, whether it is stored or new in this digest."""
        current = self.created.get(target.id) or self.current.get(target.id) or target
        changed = replace(current, **values)
        if target.id in self.created:
            self.created[target.id] = changed
        else:
            self.originals.setdefault(target.id, target)
            self.actions[target.id] = (action, reason)
        self.current[target.id] = changed

    def _add_edge(self, source_id: str, target_id: str, type: EdgeType) -> None:
        self.edges[source_id, target_id, type] = Edge(self.owner, source_id, target_id, type)

    def _report(
        self, record: Record, verdict: str, reason: str, replaces: tuple[str, ...] = ()
    ) -> None:
        """Note for the receipt what became of a statement."""
        self.derived.append(
            DerivedMemory(
                id=record.id,
                kind=record.kind,
                text=record.text,
                verdict=verdict,
                replaces=replaces,
                reason=reason[:_MAX_REASON],
                shown=form_statement(record).brief,
            )
        )


def _inherit_clock(source: Record) -> Meta:
    """Return the clock of a message: the days in a statement that was learned from it are of that."""
    return {UTC_OFFSET: source.meta[UTC_OFFSET]} if UTC_OFFSET in source.meta else {}


def _inherit_anchors(candidate: CandidateStatement, source: Record) -> Meta:
    """Return the anchors in code of a message that a statement learned from it names as well."""
    anchors = read_anchors(source)
    if anchors is None:
        return {}
    words = " ".join((candidate.text, *(item.quote for item in candidate.evidence)))
    return anchors.keep_named_in(words).to_meta()


def _build_meta(candidate: CandidateStatement) -> dict[str, Any]:
    """Return the metadata of a new statement: only what differs from the plain case."""
    meta: dict[str, Any] = {}
    if not candidate.polarity:
        meta["polarity"] = False
    if candidate.effect in ("ends", "corrects"):
        meta["effect"] = candidate.effect
    flags = {
        "event": candidate.effect == "changes" or candidate.category == "event",
        "hearsay": candidate.hearsay,
        "whole": candidate.covers_source,
    }
    meta.update({name: True for name, is_set in flags.items() if is_set})
    if candidate.avoid:
        meta["avoid"] = candidate.avoid
    for name in (PREREQUISITES, WARNINGS):
        if lines := getattr(candidate, name):
            meta[name] = list(lines)
    if candidate.times:
        meta[TIMES] = [time.to_json() for time in candidate.times]
    if candidate.modality != "asserted":
        meta["modality"] = candidate.modality
    return meta


def _inherit(record: Record, outcome: ReconciliationResult) -> Record:
    """Put a correction in the place of the statement that was wrong: its kind, scope and labels.

    A statement that was given as such stays what and where it was given.
    """
    is_correction = outcome.verdict == "replace" and outcome.retract and outcome.candidate.polarity
    if not is_correction or outcome.candidate.effect != "corrects" or not outcome.targets:
        return record
    wrong = outcome.targets[0]
    tags = tuple(dict.fromkeys((*wrong.tags, *record.tags)))
    if outcome.candidate.id:
        return replace(record, tags=tags)
    return replace(
        record,
        scope=wrong.scope,
        kind=wrong.kind,
        layer=wrong.layer,
        category=wrong.category or record.category,
        tags=tags,
        importance=max(wrong.importance, record.importance),
    )


def _start_time(record: Record) -> datetime:
    return record.valid_from or record.recorded_at


def _stays_held(record: Record, source: Record) -> bool:
    """True if a held statement stays held although it was repeated.

    It is not reviewed yet, or the session in which it was first said goes on.
    """
    is_same_session = bool(source.session) and source.session == record.session
    waits_for_end = record.meta.get("hold") == "commit_at_session_end"
    return bool(record.meta.get("review")) or (is_same_session and waits_for_end)


def _find_changes(original: Record, record: Record) -> dict[str, Any]:
    return {
        name: getattr(record, name)
        for name in _CHANGED_FIELDS
        if getattr(record, name) != getattr(original, name)
    }
