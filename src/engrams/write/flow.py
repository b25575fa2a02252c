"""The write flow: gate, extract, policy, dedup, reconcile, persist. The only place here that asks stores and models."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeAlias

from engrams.errors import BudgetError, ModelError
from engrams.ports import Batch, Chat, Clock, Embedder, Put, Query, Reach, Records, Search, Seek
from engrams.settings import Limits, WriteSettings
from engrams.text.terms import terms
from engrams.text.words import STOP
from engrams.types import Cost, Decision, Derived, Kind, Receipt, Record, Scope, Status, Turn, Vector
from engrams.write import journal as journals
from engrams.write import llm, policy
from engrams.write.candidate import Candidate, canonical
from engrams.write.gate import gate
from engrams.write.kindred import kindred
from engrams.write.llm.meet import NO_COST
from engrams.write.past import placed
from engrams.write.persist import Ledger, derived_id
from engrams.write.reconcile import Meeting, reconcile
from engrams.write.rules import Speech, extract, is_explicit
from engrams.write.slots import also_ends, is_single, same

STATEMENTS = (Kind.FACT, Kind.PREFERENCE, Kind.PROCEDURE, Kind.CORRECTION, Kind.NEGATIVE, Kind.RULE)
_OPEN = (Status.ACTIVE, Status.CANDIDATE)
_SLOT = 200
_LATEST = 20
_NEAR = 5
_MOST_KNOWN = 40
_INNER = frozenset(("conversation", "session", "thread", "chat"))

Ruled: TypeAlias = "tuple[Candidate, policy.Ruling]"


@dataclass(frozen=True, slots=True)
class Deps:
    """What the write flow works with. ``ignore``: lines of a project's ignore files (``ignored.read``)."""

    records: Records
    settings: WriteSettings
    limits: Limits
    clock: Clock
    search: Search | None = None
    embedder: Embedder | None = None
    chat: Chat | None = None
    ignore: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Journaled:
    """What journaling asks to store, and a receipt for each turn in order. ``records``: those to store, for ``digest``."""

    puts: tuple[Put, ...]
    receipts: tuple[Receipt, ...]
    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class Digest:
    """What a digest asks to store, and what it decided. ``by_source``: derived memories by the record they came from."""

    batch: Batch
    derived: tuple[Derived, ...] = ()
    decisions: tuple[Decision, ...] = ()
    cost: Cost = NO_COST
    by_source: Mapping[str, tuple[Derived, ...]] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to store."""
        return not (self.batch.puts or self.batch.changes or self.batch.edges)


def journal(turns: Sequence[Turn], scope: Scope, deps: Deps, *, kind: Kind = Kind.TURN, channel: str = "") -> Journaled:
    """Turns as records to store, cleaned and rid of secrets, with receipts. No model is asked, except an inline embedder.

    A refused turn has a receipt and no record. InputError: a turn is empty, too large or malformed; then none is journaled.
    """
    now = deps.clock()
    entries = [
        journals.enter(turn, scope, now, deps.settings, deps.limits, kind=kind, channel=channel, ignore=deps.ignore) for turn in turns
    ]
    records = [entry.record for entry in entries if entry.record is not None]
    inline = deps.embedder if deps.embedder is not None and deps.embedder.card.inline else None
    vectors, notes = _embed(records, inline)
    receipts = tuple(_receipt(entry, scope, now, vectors, notes) for entry in entries)
    return Journaled(tuple(Put(record, vector=vectors.get(record.id)) for record in records), receipts, tuple(records))


def digest(records: Sequence[Record], deps: Deps, *, echoes: Collection[str] = (), actor: str = "digest") -> Digest:
    """What is learned from journaled records: one batch to commit. Doing it again for the same records stores nothing twice.

    The records must share one owner. ``echoes``: fingerprints of what was injected into prompts. Raises ModelError where the
    chat model fails for good, so that the job is tried again; nothing is lost, the records are in the journal.
    """
    now = deps.clock()
    decisions: list[Decision] = []
    by_source: dict[str, tuple[Derived, ...]] = {}
    cost = Cost()
    if not records:
        return Digest(Batch(actor, "nothing to learn from", now))
    ordered = sorted(records, key=lambda record: (record.recorded_at, record.id))
    ledger = Ledger(ordered[0].scope.owner, ordered[0].scope, now)
    open_ = [record for record in ordered if _admit(record, deps.settings, echoes, decisions)]
    found, cost = _extract(open_, deps, decisions)
    done = _done([candidate for candidates in found.values() for candidate in candidates], deps, ledger)
    for record in open_:
        ledger.scope = record.scope
        start = len(ledger.derived)
        fresh = [candidate for candidate in found.get(record.id, ()) if not _repeated(candidate, done, decisions)]
        ruled, spent = _ruled(record, fresh, deps, decisions)
        cost += spent + _learn(record, ruled, deps, ledger, decisions)
        by_source[record.id] = tuple(ledger.derived[start:])
    _supersede_notes(ledger, deps)
    vectors, notes = _embed(list(ledger.fresh.values()), deps.embedder)
    decisions.extend(notes)
    return Digest(ledger.batch(actor, "learned from what was said", vectors), tuple(ledger.derived), tuple(decisions), cost, by_source)


# --------------------------------------------------------------------------------------------------------------- steps


def _admit(record: Record, settings: WriteSettings, echoes: Collection[str], decisions: list[Decision]) -> bool:
    """gate: is this somebody's statement, and is there anything in it?"""
    if record.status is not Status.ACTIVE or record.kind not in (Kind.TURN, Kind.EXCHANGE, Kind.NOTE):
        decisions.append(Decision("gate", "skip", f"{record.status} {record.kind}", record=record.id))
        return False
    if record.kind is not Kind.NOTE and record.role not in settings.speakers:
        decisions.append(Decision("gate", "skip", f"role {record.role or 'unknown'}", record=record.id))
        return False
    if not settings.gate or record.kind is Kind.NOTE:
        return True
    refused = gate(record.text, min_words=settings.min_words, echoes=echoes)
    if refused is not None:
        decisions.append(replace(refused, record=record.id))
    return refused is None


def _extract(records: list[Record], deps: Deps, decisions: list[Decision]) -> tuple[dict[str, list[Candidate]], Cost]:
    """extract: candidates by the record they come from."""
    mode = deps.settings.extract
    if mode == "off" or not records:
        return {}, Cost()
    if deps.chat is not None and mode in ("llm", "auto"):
        try:
            return llm.extract(records, _lately_known(records[0], deps), deps.chat, deps.settings.batch, decisions)
        except BudgetError as problem:
            if mode == "llm":
                raise
            decisions.append(Decision("extract", "rules", f"no model: {problem.message}"))
    elif mode == "llm":
        raise ModelError(
            "Extraction is set to llm, and no chat model is configured.",
            hint="Set chat.provider, or write.extract to auto.",
            retryable=False,
        )
    names = _names(records, deps)
    return {record.id: _by_rules(record, names) for record in records}, Cost()


def _by_rules(record: Record, names: frozenset[str]) -> list[Candidate]:
    named = record.speaker.strip()
    subject = canonical(named, record.scope) if named else "user"
    speech = Speech(named or "the user", subject, record.recorded_at, record.id, record.trust, names)
    found = [replace(candidate, subject=canonical(candidate.subject, record.scope)) for candidate in extract(record.text, speech)]
    if record.kind is Kind.NOTE and found and _covers(record.text, found[0]):
        found[0] = replace(found[0], whole=True)
    return found


def _ruled(record: Record, candidates: Sequence[Candidate], deps: Deps, decisions: list[Decision]) -> tuple[list[Ruled], Cost]:
    """policy: what may be stored, and whether at once."""
    settings = deps.settings
    explicit = record.kind is Kind.NOTE or is_explicit(record.text)
    rulings = [policy.judge(candidate, mode=settings.policy, explicit=explicit, floor=settings.min_confidence) for candidate in candidates]
    cost = Cost()
    if settings.policy == "llm" and deps.chat is not None:
        asked = [at for at, ruling in enumerate(rulings) if ruling.action != "drop"]
        judged, cost = llm.judge(record, [candidates[at] for at in asked], deps.chat)
        for at, ruling in zip(asked, judged, strict=True):
            rulings[at] = ruling
    pairs = list(zip(candidates, rulings, strict=True))
    decisions.extend(Decision("policy", ruling.action, ruling.reason, candidate.text[:200], record.id) for candidate, ruling in pairs)
    return [(candidate, ruling) for candidate, ruling in pairs if ruling.action != "drop"], cost


def _learn(record: Record, ruled: Sequence[Ruled], deps: Deps, ledger: Ledger, decisions: list[Decision]) -> Cost:
    """dedup, reconcile and persist for the candidates of one record, each seeing what the ones before it did."""
    if not ruled:
        return Cost()
    mode = deps.settings.reconcile
    if deps.chat is not None and mode in ("llm", "auto"):
        return _asked(record, ruled, deps, ledger, decisions)
    for candidate, ruling in ruled:
        meeting = Meeting("add", candidate, reason="reconcile off") if mode == "off" else _meet(candidate, record, deps, ledger)
        ledger.apply(meeting, ruling, record)
    return Cost()


def _asked(record: Record, ruled: Sequence[Ruled], deps: Deps, ledger: Ledger, decisions: list[Decision]) -> Cost:
    """reconcile by a model: the candidates of one record together, against what lies near any of them."""
    if deps.chat is None:
        return Cost()
    near: dict[str, Record] = {}
    for candidate, _ in ruled:
        close = _neighbours(candidate, record, deps, ledger)
        mine = [one for one in close if one.subject == candidate.subject and same(one.predicate) == same(candidate.predicate)]
        near |= {one.id: one for one in [*mine[:_NEAR], *_nearest(candidate, record, _reach(record.scope), deps)] if one.id in ledger.seen}
    known = [ledger.seen[name] for name in near if ledger.seen[name].status in _OPEN][:_MOST_KNOWN]
    met = llm.meet([candidate for candidate, _ in ruled], known, deps.chat, deps.settings.dedup_jaccard, decisions)
    for meeting, (_, ruling) in zip(met.meetings, ruled, strict=True):
        ledger.apply(meeting, ruling, record)
    ledger.remove(met.removed, "a model removed it")
    return met.cost


def _meet(candidate: Candidate, record: Record, deps: Deps, ledger: Ledger) -> Meeting:
    known = _neighbours(candidate, record, deps, ledger)
    kin = _kindred(candidate, record, deps, ledger)
    meeting = reconcile(candidate, [*known, *kin], deps.settings.dedup_jaccard, kin)
    if meeting.until is None:
        return meeting
    slot = Query(_reach(record.scope), STATEMENTS, (Status.SUPERSEDED,), subject=candidate.subject, predicate=same(candidate.predicate))
    ledger.learn(deps.records.find(replace(slot, limit=_SLOT)).records)
    return placed(meeting, record, ledger)


# ------------------------------------------------------------------------------------------------------ what is known


def _neighbours(candidate: Candidate, record: Record, deps: Deps, ledger: Ledger) -> list[Record]:
    """The statements a candidate must meet: those of its slot, of its subject where it corrects, and the nearest in meaning."""
    reach = _reach(record.scope)
    found: list[Record] = []
    also = [predicate for predicate, _ in also_ends(candidate.predicate, candidate.object)]
    # Of a slot that holds many values, those that matter share words with the candidate: the search below finds them.
    most = _SLOT if is_single(candidate.predicate, candidate.subject) or candidate.effect != "states" else _LATEST
    for predicate in dict.fromkeys((candidate.predicate, same(candidate.predicate), *also)):
        query = Query(reach, STATEMENTS, _OPEN, subject=candidate.subject, predicate=predicate, limit=most)
        found += deps.records.find(query).records
    if candidate.effect == "corrects" and not candidate.predicate:
        return _lately(record, reach, deps, ledger)
    if candidate.effect == "corrects":
        found += deps.records.find(Query(reach, STATEMENTS, _OPEN, subject=candidate.subject, limit=_SLOT)).records
    found += _nearest(candidate, record, reach, deps)
    mine = home(record.scope)
    close = [one for one in found if home(one.scope) in mine.chain()]
    ledger.learn(close)
    near = dict.fromkeys((*(one.id for one in close), *ledger.fresh))
    return [one for name in near if (one := ledger.seen[name]).status in _OPEN and one.kind in STATEMENTS]


def _kindred(candidate: Candidate, record: Record, deps: Deps, ledger: Ledger) -> tuple[Record, ...]:
    """Statements of a slot with another name and the same meaning; none where that cannot be told."""
    if deps.embedder is None or not candidate.single or candidate.effect == "ends":
        return ()
    reach, mine = _reach(record.scope), home(record.scope)
    attributes = Query(reach, STATEMENTS, _OPEN, predicate="is", limit=_NEAR * 10)
    of_theirs = Query(reach, STATEMENTS, _OPEN, subject=candidate.subject, limit=_NEAR * 10)
    known = deps.records.find(attributes if candidate.predicate == "is" else of_theirs).records
    ledger.learn([one for one in known if home(one.scope) in mine.chain()])
    open_ = [ledger.seen[one.id] for one in known if one.id in ledger.seen and ledger.seen[one.id].status in _OPEN]
    try:
        return kindred(candidate, open_, deps.embedder)
    except ModelError:
        return ()  # the lexical slots stand; the embedder's failure shows in the vectors that are missing


def _lately(record: Record, reach: Reach, deps: Deps, ledger: Ledger) -> list[Record]:
    """What the same speaker last stated in the same session: all that a bare "no, it's Berlin" can mean."""
    found = deps.records.find(Query(reach, STATEMENTS, _OPEN, session=record.session, limit=_NEAR * 2)).records
    ledger.learn([one for one in found if one.scope == record.scope])
    now = [one for one in ledger.seen.values() if one.status in _OPEN and one.kind in STATEMENTS]
    return [one for one in now if one.session == record.session and one.speaker == record.speaker and one.recorded_at <= record.recorded_at]


def _nearest(candidate: Candidate, record: Record, reach: Reach, deps: Deps) -> list[Record]:
    """The statements nearest in words, and in meaning where vectors are cheap."""
    if deps.search is None:
        return []
    words = tuple(dict.fromkeys(terms(candidate.text)))
    pool = deps.search.seek(
        Seek(
            reach,
            record.recorded_at,
            tuple((word, 1.0) for word in words),
            model=deps.embedder.card.id if deps.embedder else "",
            width=_NEAR * 4,
            kinds=STATEMENTS,
        )
    )
    order = (-pool.bm).argsort(kind="stable")[:_NEAR]
    return list(deps.records.get(record.scope.owner, [pool.ids[at] for at in order]))


def _lately_known(record: Record, deps: Deps) -> tuple[Record, ...]:
    """What the model is told not to repeat."""
    return deps.records.find(Query(_reach(record.scope), STATEMENTS, limit=80)).records


def home(scope: Scope) -> Scope:
    """The scope without its trailing conversation: a person's facts hold across conversations, a project's within it."""
    labels = scope.labels
    while len(labels) > 2 and labels[-2] in _INNER:
        labels = labels[:-2]
    return Scope(labels)


def _reach(scope: Scope) -> Reach:
    return Reach(scope.owner, home(scope).chain(), tree=True)


def _names(records: Sequence[Record], deps: Deps) -> frozenset[str]:
    """Who takes part in the conversation, lower case; the user's own bare roles are no names."""
    named = {record.speaker for record in records}
    if deps.search is not None:
        named |= set(deps.search.speakers(_reach(records[0].scope)))
    return frozenset(name.strip().lower() for name in named if name.strip()) - {"user", "assistant", "system", "tool"}


def _done(candidates: Sequence[Candidate], deps: Deps, ledger: Ledger) -> frozenset[str]:
    """Ids of candidates that became records at an earlier run."""
    ids = list(dict.fromkeys(derived_id(candidate) for candidate in candidates))
    return frozenset(record.id for record in deps.records.get(ledger.owner, ids)) if ids else frozenset()


def _repeated(candidate: Candidate, done: frozenset[str], decisions: list[Decision]) -> bool:
    if derived_id(candidate) not in done:
        return False
    decisions.append(Decision("dedup", "skip", "stored by an earlier run", candidate.text[:200], derived_id(candidate)))
    return True


def _supersede_notes(ledger: Ledger, deps: Deps) -> None:
    """A note that says one thing only is superseded with it; a turn stays: it was said."""
    lost = [
        record
        for record in ledger.seen.values()
        if record.status is Status.SUPERSEDED and record.meta.get("whole") and record.superseded_by
    ]
    changed = [record for record in lost if record.id in ledger.fresh or ledger.before[record.id].status is not Status.SUPERSEDED]
    sources = {item.source: record for record in changed for item in record.evidence[:1]}
    for note in deps.records.get(ledger.owner, list(sources)) if sources else ():
        if note.kind is Kind.NOTE and note.status is Status.ACTIVE:
            ledger.learn([note])
            ledger.supersede(note, sources[note.id])


def _covers(text: str, candidate: Candidate) -> bool:
    """Whether the candidate's quote is all that the text says."""
    quoted = set(terms(candidate.evidence[0].quote)) if candidate.evidence else set()
    return not any(word not in quoted and word not in STOP for word in terms(text))


# ------------------------------------------------------------------------------------------------------------- models


def _embed(records: Sequence[Record], embedder: Embedder | None) -> tuple[dict[str, Vector], tuple[Decision, ...]]:
    """Vectors by record id; none, and a decision that says so, where the embedder fails: the text is findable without."""
    if embedder is None or not records:
        return {}, ()
    try:
        matrix = embedder.embed([record.search_text for record in records], "document")
    except ModelError as problem:
        return {}, (Decision("embed", "later", problem.message),)
    card = embedder.card
    rows = {record.id: row for record, row in zip(records, matrix, strict=True) if row.any()}
    return {name: Vector(name, card.id, card.dimension, row.astype("<f4").tobytes()) for name, row in rows.items()}, ()


def _receipt(entry: journals.Entry, scope: Scope, now: datetime, vectors: Mapping[str, Vector], notes: tuple[Decision, ...]) -> Receipt:
    record = entry.record
    if record is None:
        return Receipt("", scope, "refused", now, decisions=entry.decisions)
    searchable = ("lexical", "dense") if record.id in vectors else ("lexical",)
    return Receipt(
        record.id,
        scope,
        "redacted" if entry.outcome == "redacted" else "stored",
        record.recorded_at,
        searchable,
        decisions=(*entry.decisions, *notes),
    )
