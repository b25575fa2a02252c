"""One exchange of a home with the place: ``Exchange.run`` lists the steps in their order.

Purges of others come first: what they erased is gone from this home before it tells or takes over
anything. Then this home tells its own changes, takes over those of the others, and confirms.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from engrams.core import Json, Record, Status
from engrams.errors import EncryptionError, InputError, StoreError
from engrams.ports import Clock, OwnerStateRow, RecordQuery, ScopeReach, Store, WriteBatch
from engrams.spaces import SpaceRole
from engrams.sync import ciphers, compaction, segments
from engrams.sync.attachment_exchange import AttachmentExchange, AttachmentExchangeDeps
from engrams.sync.identity import DeviceHome, DeviceIdentity
from engrams.sync.local_records import LocalRecord, LocalRecords
from engrams.sync.membership import (
    MemberList,
    Statement,
    give_keys,
    require_member,
    select_signed,
)
from engrams.sync.own_segments import OwnSegments
from engrams.sync.places import Place, PlaceFile
from engrams.sync.record_import import ACTOR, MakeVectors, RecordImporter, TakenCounts
from engrams.sync.record_state import pack_stamps
from engrams.sync.replica_state import ReplicaState, make_actor
from engrams.sync.segment_check import check_segment
from engrams.sync.segments import Segment, pack_numbers

_SEGMENT = 1000
"""Memories that one segment tells of."""
_LIMIT = 1000


@dataclass(frozen=True, slots=True)
class ExchangeDeps:
    """Functions by which an exchange changes the memory of this home."""

    store: Store
    clock: Clock
    purge: Callable[[Sequence[Record]], object]
    """Erases memories for good, with all that follows."""
    forget: Callable[[Sequence[Record]], object]
    """Forgets memories, with all that follows."""
    redact: Callable[[Sequence[Record]], object]
    """Takes secrets from the history of memories that lost them on another device."""
    holds_secret: Callable[[Record], bool]
    """True: the settings of this home do not let it keep the memory as it is."""
    secret_rules: str
    """Text that names those settings: what they forbade is looked at again where it changes."""
    make_vectors: MakeVectors
    after: Callable[[], object]
    """Does later what an exchange left to do: vectors that take long."""
    files: AttachmentExchangeDeps | None = None
    """Files of pictures and sounds, and how they travel. None: they are not kept here."""


@dataclass(slots=True)
class ExchangeReport:
    """Counts of one exchange."""

    sent: int = 0
    """Memories that the other devices will get."""
    bytes_sent: int = 0
    added: int = 0
    changed: int = 0
    conflicts: int = 0
    """Texts that two devices changed at once; both are kept."""
    purged: int = 0
    """Memories that were purged here because another device purged them."""
    cleaned: int = 0
    """Own segments that were written anew without what was purged."""
    remains: str = ""
    """Sentence on the sealed bytes that the place keeps of segments written anew. Empty: none."""
    waiting: list[str] = field(default_factory=list)
    """Files of the place that are not whole yet, or that this device has no key for."""
    refused: list[str] = field(default_factory=list)
    """Files of which nothing is taken over, with the name of their writer and the reason."""
    unsent: str = ""
    """Sentence on why nothing was sent; empty: everything was."""
    spaces: list[SpaceExchange] = field(default_factory=list)
    """Exchanges of the spaces that this home shares with other homes."""

    @property
    def is_news(self) -> bool:
        """True where the exchange did something."""
        return self.has_counts or any(space.is_news for space in self.spaces)

    @property
    def has_counts(self) -> bool:
        """True where the exchange did something to a memory or a place, the spaces left out."""
        nothing = ExchangeReport(
            waiting=self.waiting, refused=self.refused, unsent=self.unsent, spaces=self.spaces
        )
        return self != nothing


@dataclass(slots=True)
class SpaceExchange:
    """Exchange of one space with the other homes that share it."""

    space: str
    report: ExchangeReport | None = None
    """None: there was no exchange."""
    ended: bool = False
    """True: this home was removed, and its copy of the space is erased."""
    problem: str = ""
    """Sentence on why there was no exchange; empty: there was one."""

    @property
    def is_news(self) -> bool:
        """True where the exchange did something."""
        return self.ended or (self.report is not None and self.report.is_news)


class Exchange:
    """One exchange; used once."""

    def __init__(
        self,
        deps: ExchangeDeps,
        home: DeviceHome,
        carrier: Place,
        skipped_files: set[PlaceFile] | None = None,
    ) -> None:
        """Set one exchange up.

        ``skipped_files``: files of pictures and sounds that an earlier exchange read in vain. None: such
        files do not travel, as those of spaces.
        """
        self._deps = deps
        self._skipped_files = skipped_files
        self._home = home
        self._place = carrier
        self._identity = home.load()
        self._members = MemberList(self._identity.memory)
        self._report = ExchangeReport()
        self._may_write = True
        """False: this home only reads the space."""
        self._next_number = 1
        """Number of the next segment of this device."""
        self._first_number = 1
        """Number of the first segment that this exchange writes."""

    def run(self) -> ExchangeReport:
        """Exchange everything. RefusedError: this device was removed."""
        files = self._place.list()
        self._identity, self._members = read_statements(
            self._home, self._identity, self._place, files
        )
        require_member(self._members, self._identity.device)
        self._may_write = self._members.find_role(self._identity.device).includes(SpaceRole.EDITOR)
        key = self._share_keys()
        own = OwnSegments(self._home, self._identity, self._place, key or b"", self._find_key)
        replica = ReplicaState.load(self._deps.store, self._identity.owner, self._identity.device)
        own.drop_unknown(replica.applied)
        self._number_segments(replica, files)
        local = LocalRecords(self._deps.store, self._identity.owner, replica.actor)
        importer = RecordImporter(
            self._deps.store,
            local,
            self._deps.clock,
            self._deps.make_vectors,
            self._deps.holds_secret,
        )
        again_paths = self._review_rules(replica)
        news = self._purge(list(self._find_news(replica, files, again_paths)), importer, replica)
        if key is None:
            self._take_over(news, importer, replica)
            self._save(replica)
            self._report.unsent = "Nothing is sent before an owner has exchanged: somebody left, and owners make keys."
            return self._report
        self._tell(replica, local, own)
        self._report.bytes_sent += own.send()
        self._take_over(news, importer, replica)
        self._tell(replica, local, own)
        replica.must_clean |= compaction.is_half_outdated(replica)
        self._clean(replica, local, own, files)
        self._tell(replica, local, own)
        self._merge_small(replica, local, own, files)
        self._confirm(replica, own)
        self._report.bytes_sent += own.send()
        self._remove_retired(replica, files)
        self._exchange_files(files, has_news=bool(news))
        return self._report

    def _exchange_files(self, files: Iterable[PlaceFile], *, has_news: bool) -> None:
        """Exchange the files of pictures and sounds; what fails is tried again by the next exchange."""
        if self._deps.files is None or self._skipped_files is None:
            return
        if has_news:
            # The memories of skipped files may have come meanwhile.
            self._skipped_files.clear()
        exchange = AttachmentExchange(self._deps.files, self._identity, self._members, self._place)
        try:
            self._report.bytes_sent += exchange.run(files, self._skipped_files)
        except StoreError as problem:
            self._report.remains = f"Files of documents did not travel: {problem.message}"

    # ----------------------------------------------------------------------------------------------
    # members and keys

    def _share_keys(self) -> bytes | None:
        """Give members the keys that they lack; return the one to seal with.

        None: no key is safe, and this home is no owner, who could make one.
        """
        current = self._members.find_current_key()
        identity = self._identity
        may_make = current is None and self._members.is_owner(identity.device)
        new_key = ciphers.MemberKeys.make().opening if may_make else b""
        statement = give_keys(identity.keys, identity.next_statement, self._members, new_key)
        if statement is not None:
            self._identity, self._members = publish(self._home, identity, self._place, [statement])
            current = self._members.find_current_key()
        if current is None and self._members.is_owner(identity.device):
            raise EncryptionError("No key of this memory is safe to use.")
        return None if current is None else self._find_key(current.name)

    def _find_key(self, name: str) -> bytes:
        return self._members.open_key(name, self._identity.keys)

    # ----------------------------------------------------------------------------------------------
    # what others told

    def _number_segments(self, replica: ReplicaState, files: Iterable[PlaceFile]) -> None:
        """Number own segments, and notice an older database or segments that the place lost."""
        device = self._identity.device
        in_place = self._list_own(files)
        last = replica.applied.find_last(device)
        self._next_number = self._first_number = max(last, *in_place, 0) + 1
        if any(not replica.applied.has(device, number) for number in in_place):
            replica.actor = make_actor(device)
        lost = set(range(1, last + 1)) - in_place - replica.missing - replica.retired
        if lost:
            replica.missing |= lost
            for number in lost:
                replica.own_counts.pop(number, None)
            replica.tells_all = True
            replica.cursor = 0

    def _list_own(self, files: Iterable[PlaceFile]) -> set[int]:
        """List the numbers of the segments of this device in the place and in the outbox.

        ``files``: those that were in the place when the exchange began.
        """
        device = self._identity.device
        in_place = {file.number for file in files if file == (device, file.number, "seg")}
        in_outbox = {int(path.name) for path in self._home.outbox.glob("*")}
        return in_place | in_outbox | set(range(self._first_number, self._next_number))

    def _review_rules(self, replica: ReplicaState) -> set[str]:
        """Return the segments to take over again: they were not finished, or other rules hold now."""
        again_paths = {replica.unfinished} if replica.unfinished else set()
        if replica.secret_rules != self._deps.secret_rules:
            replica.secret_rules = self._deps.secret_rules
            replica.again |= replica.kept_ids
            replica.kept_ids = set()
            again_paths.update(replica.declined)
        return again_paths

    def _find_news(
        self, replica: ReplicaState, files: Iterable[PlaceFile], again_paths: Collection[str]
    ) -> Iterator[PlaceFile]:
        """Find segments that are not known here, of members that may tell, and those to read again."""
        for file in sorted(files):
            member = self._members.members.get(file.member)
            is_known = replica.applied.has(*file[:2]) and file.path not in again_paths
            if file.kind != "seg" or member is None or is_known:
                continue
            last = self._members.last_segments.get(file.member)
            if last is None or file.number <= last:
                yield file

    def _read(self, file: PlaceFile) -> Segment | None:
        """Read a segment; None: it is not whole yet, or nobody gave this device its key."""
        data = self._place.read(file)
        member = self._members.members[file.member]
        try:
            if data is None:
                raise EncryptionError("The file is not there any more.")
            segment = segments.unpack(
                data,
                self._identity.memory,
                file.member,
                file.number,
                member.signing,
                self._find_key,
            )
            if self._members.is_space:
                check_segment(segment, self._identity.owner)
        except EncryptionError:
            if file.path not in self._report.waiting:
                self._report.waiting.append(file.path)
            return None
        except InputError:
            self._refuse(file, "it cannot be read")
            return None
        tells = bool(segment.records or segment.purged_ids)
        if tells and not self._members.find_role(*file[:2]).includes(SpaceRole.EDITOR):
            # Its writer may become an editor later, so the file is looked at again.
            self._refuse(file, "its writer only reads the space")
            return None
        return segment

    def _refuse(self, file: PlaceFile, reason: str) -> None:
        """Note a file of which nothing is taken over."""
        name = self._members.read_names(file.member, self._identity.keys).get("person", "")
        refused = f"{name or file.member}: {file.path}: {reason}"
        if refused not in self._report.refused:
            self._report.refused.append(refused)

    def _purge(
        self, found_files: Sequence[PlaceFile], importer: RecordImporter, replica: ReplicaState
    ) -> list[PlaceFile]:
        """Purge here what others purged; return the segments that could be read."""
        news = []
        purged_ids: set[str] = set()
        for file in found_files:
            segment = self._read(file)
            if segment is not None:
                news.append(file)
                if not replica.applied.has(*file[:2]):
                    purged_ids.update(segment.purged_ids)
        if purged_ids:
            self._purge_ids(sorted(purged_ids), importer, replica)
        return news

    def _purge_ids(
        self, ids: Sequence[str], importer: RecordImporter, replica: ReplicaState
    ) -> None:
        store, owner = self._deps.store, self._identity.owner
        records = [record for record in store.get(owner, ids) if record.status is not Status.PURGED]
        if records:
            # Others hold these back until they are told without what was purged.
            replica.again |= self._find_related([record.id for record in records])
        replica.must_clean = True
        replica.must_confirm = True
        replica.drop_declined(ids)
        self._save(replica)
        if records:
            self._deps.purge(records)
            self._report.purged += len(records)
        importer.bury(ids)

    def _find_related(self, ids: Sequence[str]) -> set[str]:
        """Find the memories that quote some, or are linked to them."""
        store, owner = self._deps.store, self._identity.owner
        edges = store.edges(owner, ids)
        related = {node for edge in edges for node in (edge.source, edge.target) if ":" not in node}
        query = RecordQuery(
            ScopeReach.of_owner(owner), statuses=tuple(Status), sources=tuple(ids), limit=_LIMIT
        )
        while True:
            page = store.find(query)
            related.update(record.id for record in page.records)
            if not page.next:
                return related - set(ids)
            query = replace(query, after=page.next)

    def _take_over(
        self, news: Sequence[PlaceFile], importer: RecordImporter, replica: ReplicaState
    ) -> None:
        """Take over what others told, one segment in one transaction."""
        store, owner = self._deps.store, self._identity.owner
        total = TakenCounts()
        for file in news:
            segment = self._read(file)
            if segment is None:
                continue
            last_change = store.find_change(owner, 0)
            replica.unfinished = file.path
            replica.must_confirm |= segment.asks
            counts = importer.apply(segment, replica, self._identity.device)
            total.add(counts)
            if replica.cursor == last_change and counts.numbered is not None:
                next_change = store.find_change(owner, 0)
                # Nobody else wrote meanwhile, so there is nothing to tell among these.
                if next_change == last_change + counts.numbered:
                    replica.cursor = next_change
            if orphans := importer.find_orphans(segment):
                self._deps.forget(orphans)
            if redacted := importer.find_redacted(segment):
                self._deps.redact(redacted)
            replica.unfinished = ""
        self._report.added = total.added
        self._report.changed = total.changed
        self._report.conflicts = total.conflicts

    # ----------------------------------------------------------------------------------------------
    # what this home tells

    def _tell(self, replica: ReplicaState, local: LocalRecords, own: OwnSegments) -> None:
        """Write segments of all that changed here since the last time."""
        store, owner = self._deps.store, self._identity.owner
        if not self._may_write:
            # Nothing that upkeep changes in the copy of a reader is told.
            replica.cursor = store.find_change(owner, 0)
            replica.again = set()
        while True:
            changed = store.changes(owner, replica.cursor, _SEGMENT)
            if changed.last == replica.cursor and not replica.again:
                break
            changed_ids = {record.id for record in changed.records}
            again = sorted(replica.again - changed_ids)[:_SEGMENT]
            forced_ids = (replica.again & changed_ids) | set(again)
            wanted_ids = forced_ids if not replica.tells_all else forced_ids | changed_ids
            records = [*changed.records, *store.get(owner, again)]
            replica.cursor = changed.last
            replica.again -= forced_ids
            listed = local.complete(records, wanted_ids=wanted_ids)
            self._write_segment(list(listed.values()), wanted_ids, replica, local, own)
        if replica.tells_all:
            replica.tells_all = False
            replica.must_confirm = True
            self._save(replica)

    def _write_segment(
        self,
        listed: Sequence[LocalRecord],
        wanted_ids: Collection[str],
        replica: ReplicaState,
        local: LocalRecords,
        own: OwnSegments,
    ) -> None:
        """Write a segment of those records that have something to tell, if there are any."""
        tellable = [
            item
            for item in listed
            if item.state is not None
            and not _is_held(item)
            and (item.is_due or item.record.id in wanted_ids)
        ]
        kept_ids = {item.record.id for item in tellable if self._deps.holds_secret(item.record)}
        replica.kept_ids -= {item.record.id for item in listed}
        replica.kept_ids |= kept_ids
        live = [item for item in tellable if item.record.id not in kept_ids]
        purged_ids = [
            item.record.id
            for item in listed
            if item.state is None and (not item.is_told or item.record.id in wanted_ids)
        ]
        rows = [
            local.make_row(item.row, item.state, item.record.version)
            for item in live
            if item.state is not None
        ]
        rows += [
            local.make_gone_row(item.row)
            for item in listed
            if item.state is None and not item.is_told
        ]
        replica.must_clean |= bool(purged_ids) or any(map(_lost_words, live))
        replica.has_own |= bool(live)
        replica.retold += sum(item.was_told for item in live)
        if not live and not purged_ids:
            self._save(replica)
            return
        self._add_segment(replica, own, purged_ids, [_write_state(item) for item in live], rows)
        self._report.sent += len(live) + len(purged_ids)

    def _add_segment(
        self,
        replica: ReplicaState,
        own: OwnSegments,
        purged_ids: Sequence[str],
        records: Sequence[Mapping[str, Json]],
        rows: Sequence[OwnerStateRow],
    ) -> None:
        device = self._identity.device
        segment = Segment(
            device=device,
            number=self._next_number,
            label=self._identity.label,
            written_at=self._deps.clock().isoformat(),
            applied=replica.applied.pack(),
            purged_ids=tuple(purged_ids),
            records=tuple(records),
            retired=pack_numbers(replica.retired),
            # Not before all of them are told again: their purges would count as made by all.
            lost=() if replica.tells_all else pack_numbers(replica.missing),
            asks=bool(replica.merging) and not replica.merged_to,
        )
        own.prepare(segment)
        self._next_number += 1
        if not purged_ids:
            replica.own_counts[segment.number] = len(records)
        replica.note_segment(segment)
        self._save(replica, rows)

    def _clean(
        self,
        replica: ReplicaState,
        local: LocalRecords,
        own: OwnSegments,
        files: Iterable[PlaceFile],
    ) -> None:
        """Write own segments anew that hold what was purged or has another text now."""
        if not replica.must_clean:
            return

        def load_states(ids: Sequence[str]) -> dict[str, Mapping[str, Json] | None]:
            items = local.load(ids)
            due_ids = {
                record_id
                for record_id, item in items.items()
                if item.state is not None and item.is_due
            }
            if due_ids:
                # The next segment tells these, with their own stamps. Among them are memories that no
                # change of theirs lists: a link of theirs went with what was purged. This is noted
                # before the old segment loses them.
                replica.again |= due_ids
                self._save(replica)
            loaded: dict[str, Mapping[str, Json] | None] = {
                record_id: _write_state(item)
                if item.state is not None
                and record_id not in due_ids
                and not self._deps.holds_secret(item.record)
                else None
                for record_id, item in items.items()
            }
            missing_ids = [record_id for record_id in ids if record_id not in loaded]
            return loaded | dict.fromkeys(local.list_buried(missing_ids))

        device = self._identity.device
        own_numbers = self._list_own(files)
        # Of what this home does not know yet, the place has the only copy.
        known_numbers = [number for number in own_numbers if replica.applied.has(device, number)]
        rewritten = own.rewrite(known_numbers, load_states)
        compaction.note_counts(replica, rewritten)
        self._report.cleaned = len(rewritten)
        self._report.bytes_sent += own.send()
        if self._report.cleaned and self._place.remains:
            self._report.remains = self._place.remains
        replica.must_clean = len(known_numbers) < len(own_numbers)
        replica.retold = 0
        self._save(replica)

    def _merge_small(
        self,
        replica: ReplicaState,
        local: LocalRecords,
        own: OwnSegments,
        files: Iterable[PlaceFile],
    ) -> None:
        """Tell again what many small segments told, and retire them when all devices know it."""
        in_place = self._list_own(files)
        if compaction.merge_small(replica, own, local, in_place, self._next_number):
            self._save(replica)
            self._tell(replica, local, own)
        compaction.note_merged(replica, self._next_number - 1)
        devices = [member.id for member in self._members.list_devices()]
        compaction.retire_merged(replica, devices, self._identity.device)
        if replica.make_row(self._identity.device) != replica.row:
            self._save(replica)

    def _remove_retired(self, replica: ReplicaState, files: Iterable[PlaceFile]) -> None:
        """Remove segments from the place of which later ones tell the same."""
        in_place = self._list_own(files)
        retired = [
            PlaceFile(self._identity.device, number, "seg") for number in in_place & replica.retired
        ]
        if retired:
            try:
                self._place.remove(retired)
            except StoreError as problem:
                # They do no harm; each exchange tries again.
                self._report.remains = f"Segments that are not needed stay: {problem.message}"

    def _confirm(self, replica: ReplicaState, own: OwnSegments) -> None:
        """Say that the purges of others were made here, and forget those that all made."""
        if replica.must_confirm:
            replica.must_confirm = False
            self._add_segment(replica, own, (), (), ())
        devices = [member.id for member in self._members.list_devices()]
        replica.drop_confirmed(devices, self._identity.device)
        if replica.make_row(self._identity.device) != replica.row:
            self._save(replica)

    def _save(self, replica: ReplicaState, rows: Sequence[OwnerStateRow] = ()) -> None:
        row = replica.make_row(self._identity.device)
        self._deps.store.commit(WriteBatch(ACTOR, "told", self._deps.clock(), states=(*rows, row)))
        replica.row = replace(row, token=row.token + 1)


def read_statements(
    home: DeviceHome, identity: DeviceIdentity, carrier: Place, files: Iterable[PlaceFile]
) -> tuple[DeviceIdentity, MemberList]:
    """Read statements that are new in the place, and put back one's own that it lost."""
    listed = {file for file in files if file.kind == "key"}
    known_files = {statement.file for statement in identity.statements}
    read = (
        Statement.read(carrier.read(file) or b"", file.member, file.number)
        for file in sorted(listed - known_files)
    )
    statements = select_signed(
        identity.memory, identity.statements, [item for item in read if item is not None]
    )
    if len(statements) > len(identity.statements):
        identity = replace(identity, statements=statements)
        home.save(identity)
    lost = [
        statement
        for statement in identity.statements
        if identity.is_own(statement) and statement.file not in listed
    ]
    if lost:
        carrier.write({statement.file: statement.data for statement in lost})
    return identity, identity.read_members()


def publish(
    home: DeviceHome, identity: DeviceIdentity, carrier: Place, statements: Sequence[Statement]
) -> tuple[DeviceIdentity, MemberList]:
    """Keep new statements here, then write them to the place."""
    identity = replace(identity, statements=(*identity.statements, *statements))
    home.save(identity)
    carrier.write({statement.file: statement.data for statement in statements})
    return identity, identity.read_members()


def _is_held(item: LocalRecord) -> bool:
    """Return True for a statement that is held, or was held until it was dropped."""
    record = item.record
    was_held = record.status is Status.FORGOTTEN and record.meta.get("was") == "candidate"
    return record.status is Status.CANDIDATE or (was_held and not item.was_told)


def _lost_words(item: LocalRecord) -> bool:
    """Return True for a memory from which words were taken since it was told."""
    assert item.state is not None
    return item.was_told and item.state.redactions > item.row.data.get("redactions", 0)


def _write_state(item: LocalRecord) -> dict[str, Json]:
    """Write the state of a memory as segments tell it."""
    assert item.state is not None
    return {
        "id": item.record.id,
        "values": dict(item.state.values),
        "stamps": pack_stamps(item.state),
    }
