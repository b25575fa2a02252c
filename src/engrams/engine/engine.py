"""``MemoryEngine``: the one door to memory.

Its methods check arguments and hand them on; ``components`` has the parts that do the work.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

from engrams.core import (
    CONFIRMED,
    NO_META,
    Context,
    HistoryEntry,
    ImportOptions,
    Kind,
    Meta,
    Receipt,
    Record,
    Scope,
    SearchResult,
    Status,
    Turn,
)
from engrams.engine.agent_actions import Action, FlushReason, check_action, check_updatable
from engrams.engine.components import EngineComponents
from engrams.engine.dependencies import EngineDeps
from engrams.engine.engine_part import EnginePart
from engrams.engine.inspector import MemoryInspector, Place
from engrams.engine.lazy_part import LazyPart
from engrams.errors import ClosedError, NotFoundError, RefusedError
from engrams.ports import (
    Closable,
    Filter,
    JobLease,
    ListFields,
    MemoryFiles,
    Moment,
    PurgeReport,
    RecordPage,
    SkillRecordSource,
    Store,
)
from engrams.read.arguments import (
    check_count,
    to_as_of,
    to_names,
    to_where,
)
from engrams.read.cues import extract_turn_query
from engrams.read.request import ReadRequest, visible_scopes
from engrams.session.chat_answers import AnsweredChat, answer_chat
from engrams.session.delivery import DeliveryQuery
from engrams.upkeep.job_worker import JobWorkerPool

if TYPE_CHECKING:
    from engrams.engine.kept_out_texts import KeptOutText
    from engrams.forget.purge_candidates import PurgeCandidate
    from engrams.forget.secret_scan import StoredSecret
    from engrams.forget.source_effects import ChangeAction, SourceChangeReport
    from engrams.session.commands import MemoryCommandHandler
    from engrams.transfer.formats import ExportFormat
    from engrams.transfer.imports.importer import ImportCounts
    from engrams.write.ingest_request import IngestRequest

Progress: TypeAlias = Callable[[int, int], None]


class MemoryEngine:
    """Durable, layered, explainable memory for LLM agents.

    Thread safe; several processes may work on one home.

    ``scope`` on any method is a Scope, a tuple such as ``("user", "alice", "project", "x")``, or one
    string. An owner's scope reads everything of that owner; a deeper scope reads itself and those
    above it. ``as_of`` on any read is a time, its text (``"2025-01-31"``), or an ``AsOf(valid=…,
    known=…)``.
    """

    def __init__(self, deps: EngineDeps) -> None:
        self.settings = deps.settings
        self.embedder = deps.embedder
        self.counter = deps.counter
        self.chat_model = deps.chat
        self.peers = deps.peers
        self._deps = deps
        self._store = deps.store
        self._clock = deps.clock
        self._components = EngineComponents(deps)
        self._closed = False

    def add(
        self,
        content: str | Turn,
        *,
        scope: Place,
        kind: Kind | None = None,
        settle: bool = True,
        checkout: Path | None = None,
    ) -> Receipt:
        """Store a text or a message. It is durable and found by searches when this returns.

        ``kind``: default ``NOTE`` for a text and ``TURN`` for a message. ``settle``: extract facts by
        rules before this returns, so that the receipt has them too; a chat model always extracts in a
        job. ``checkout``: folder of the code that the text may name (``code``). InputError: the content
        is empty, or larger than ``limits.text_bytes``. RefusedError: the
        content contains a secret, and ``write.secrets`` is ``refuse``.
        """
        from engrams.write.ingest_request import IngestRequest

        components = self._require_open()
        turn = Turn.of(content)
        if checkout is not None:
            (turn,) = components.code.anchor([turn], checkout)
        request = IngestRequest(
            (turn,),
            Scope.of(scope),
            kind or (Kind.NOTE if isinstance(content, str) else Kind.TURN),
            lease=self._make_lease() if settle else None,
        )
        return self._add(request)

    def _make_lease(self) -> JobLease | None:
        """Return the lease of a caller who learns at once; None: a chat model learns in a job."""
        components = self._require_open()
        return components.runner.make_lease() if components.write_deps.learns_at_once else None

    def _add(self, request: IngestRequest) -> Receipt:
        """Store one turn, and learn from it at once where the request holds a lease."""
        from engrams.write import ingest  # loaded by the first write, not by a read

        components = self._require_open()
        ingested = ingest.add(request, components.ingest_deps)
        (receipt,) = ingested.receipts
        components.retract_said_before(request, ingested.receipts)
        own = ingested.own_extraction
        if own is None:
            if ingested.is_learned:
                components.runner.start()
            else:
                components.runner.wake()
            return receipt
        digest = components.run_own_extraction(own)
        components.runner.start()
        return receipt if digest is None else digest.complete(receipt, own.job.kind)

    def check_storable(self, *texts: str) -> None:
        """Check that the settings refuse no secret in texts, such as tags that are set later.

        RefusedError: they refuse one; nothing was stored.
        """
        section = self.settings.write
        if not section.refuses:
            return
        from engrams.extract.redaction import find_decisions, refuse_secrets

        refuse_secrets(find_decisions(texts, section))

    def observe(
        self, turns: Turn | Sequence[Turn], *, scope: Place, checkout: Path | None = None
    ) -> tuple[Receipt, ...]:
        """Store messages of a conversation in one durable write, without waiting for extraction.

        The receipts are in the order of ``turns``. A job extracts the facts. If one of several
        messages is refused, its receipt says so, and the others are stored. ``checkout``: folder of the
        code that the messages may name (``code``). InputError: a text is empty or too long; nothing is
        stored. RefusedError: the only message is refused.
        """
        new_turns = Turn.list_of(turns)
        if checkout is not None:
            new_turns = self._require_open().code.anchor(new_turns, checkout)
        return self.write_turns(new_turns, Scope.of(scope), Kind.TURN) if new_turns else ()

    def write_turns(
        self, turns: Sequence[Turn], scope: Place, kind: Kind, channel: str = ""
    ) -> tuple[Receipt, ...]:
        """Store messages of another kind or channel, for imports and adapters.

        ``channel``: the way by which they came, which sets their trust (empty: by their role).
        """
        return self._require_open().write_turns(turns, Scope.of(scope), kind, channel)

    def edit(
        self,
        id: str,
        *,
        scope: Place,
        text: str | None = None,
        fields: Meta | None = None,
        expect: int | None = None,
        reason: str = "",
    ) -> Record:
        """Change a memory's text or other fields; return it as it is now.

        ``fields``: new values by field name, such as ``{"importance": 0.9}``. ``expect``: the version
        that the memory must still have. If a message is edited, facts that it no longer says end, and
        new facts are extracted; rules do this before the method returns. InputError: the field cannot
        be changed, or the value does not fit it. ConflictError: the memory's version is not
        ``expect``.
        """
        record = self.inspect.get_editable(id, scope)
        components = self._require_open()
        values = dict(fields or {})
        if text is not None:
            values["text"] = text
        lease = components.runner.make_lease() if components.write_deps.learns_at_once else None
        edit = components.editor.edit(record, values, reason, expect=expect, lease=lease)
        components.drop_from_tiers(record.scope.owner, edit.changed_ids[1:])
        if edit.own_extraction is not None:
            components.run_own_extraction(edit.own_extraction)
        components.runner.wake()
        return self.get(record.id, scope=scope)

    def forget(self, id: str, *, scope: Place, reason: str = "") -> Record:
        """Forget a memory: no read finds it until ``restore``.

        Memories that were derived only from it are forgotten too, and so is a message that says only
        this. RefusedError: the memory is purged.
        """
        from engrams.extract.redaction import redact_text  # loaded by a write, not by a read

        record = self.inspect.get_editable(id, scope)
        if record.status is Status.PURGED:
            raise RefusedError("The memory is already purged.")
        clean_reason = redact_text(reason, self.settings.write)[0]
        self._require_open().forgetter.forget([record], record.scope.owner, clean_reason)
        return self.get(record.id, scope=scope)

    def restore(self, id: str, *, scope: Place) -> Record:
        """Undo forgetting or archiving of a memory, or remove its mark of being outdated.

        A removed mark does not come back. RefusedError: the memory is neither forgotten, archived nor
        marked.
        """
        record = self.inspect.get_editable(id, scope)
        self._require_open().forgetter.restore(record)
        return self.get(record.id, scope=scope)

    def move_scope(self, source: Place, *, into: Place, preview: bool = False) -> int:
        """Move everything of a part of a memory into another, with ids, history and links.

        Returns how many memories. ``preview``: only count them. InputError: the parts are of
        different owners, or one contains the other.
        """
        from engrams.write.scope_moves import ScopeMover

        components = self._require_open()
        mover = ScopeMover(self._store, self._clock)
        source_scope, target = Scope.of(source), Scope.of(into)
        if preview:
            return len(mover.list_records(source_scope, target))
        moved = mover.move(source_scope, target)
        components.runner.wake()
        return moved

    def purge(
        self, ids: str | Sequence[str], *, scope: Place, git: bool = False, later: bool = False
    ) -> PurgeReport:
        """Erase memories for good, with their words in every place.

        Memories that were derived only from them are erased too. A message that says more loses only
        the quoted words. ``git``: also erase them from the history of the files. ``later``: forget
        them now and let a job erase them; then there is no report, and git is not rewritten. The
        report is ``proven`` if a second search of every file finds nothing.
        """
        components = self._require_open()
        owner = Scope.of(scope).owner
        if not later:
            return components.purge(ids, owner, git)
        records = self.inspect.list_editable(ids, scope)
        components.forgetter.forget(
            [record for record in records if record.status is not Status.PURGED],
            owner,
            jobs=[components.purger.make_deferred_job(records, owner)],
        )
        components.runner.wake()
        return PurgeReport({}, {})

    def purge_all(self, scope: Place, *, git: bool = False) -> PurgeReport:
        """Erase all memories of a scope and below it for good, of every status.

        The owner's scope, such as ``("user", "ann")``, erases everything of that person. ``git``: also
        rewrite the history of the files, which then loses what earlier purges erased, too. The report
        is ``proven`` if a second search of every file finds nothing.
        """
        return self._require_open().purge_all(Scope.of(scope), git=git)

    def find_secrets(self, *, scope: Place) -> tuple[StoredSecret, ...]:
        """Find secrets in what is stored in a scope and below it, and in its earlier versions.

        The treatments of ``write.secrets``, ``write.pii`` and ``write.secrets_of`` tell which kinds; what
        they allow is left out. Nothing is changed.
        """
        from engrams.forget.secret_scan import find_stored_secrets

        records = self.inspect.list_within(scope)
        return find_stored_secrets(records, self._store, self.settings.write)

    def redact_secrets(self, *, scope: Place) -> PurgeReport:
        """Remove the secrets that ``find_secrets`` finds from memories, their history and all files.

        The memories stay, with a mark in the place of each secret. The history of the files is rewritten.
        """
        from engrams.forget.secret_scan import plan_redaction

        owner = Scope.of(scope).owner
        with self._store.include_altered():
            records = self.inspect.list_within(scope)
            plan = plan_redaction(records, owner, self._store, self.settings.write)
            if not plan.order.quotes:
                return PurgeReport({}, {})
            return self._require_open().purger.carry_out(plan)

    def find_about(self, about: str, *, scope: Place) -> tuple[PurgeCandidate, ...]:
        """Find memories about a person or thing, to choose which of them to purge.

        First come memories that mention it or are statements about it (``certain``), then the hits of
        a search. Nothing is changed.
        """
        from engrams.forget.purge_candidates import find_candidates

        hits = [hit.record for hit in self.explain(about, scope=scope).hits]
        return find_candidates(
            about, Scope.of(scope), self._store, hits, self.settings.write.min_words
        )

    def preview(self, ids: Sequence[str], action: ChangeAction, scope: Place) -> SourceChangeReport:
        """Report which memories an edit, forget or purge would change; change nothing.

        ``action``: ``edit``, ``forget`` or ``purge``.
        """
        records = self.inspect.list_editable(ids, scope)
        return self._require_open().forgetter.preview(records, action)

    def search(  # noqa: PLR0913 - keyword options of one search
        self,
        query: str,
        *,
        scope: Place,
        limit: int | None = None,
        as_of: Moment = None,
        kinds: Sequence[Kind] = (),
        where: Filter | None = None,
        history: bool = False,
        checkout: Path | None = None,
    ) -> SearchResult:
        """Find the memories that answer ``query``, best first.

        ``limit``: most hits (None: ``read.limit``). ``kinds`` and ``where`` (``{"speaker": "Ann"}``)
        filter the hits. ``history``: include superseded and archived memories. ``as_of``: search
        memory as it was then. ``checkout``: folder of the code with which the hits are compared. Scores
        are 0..1. The result's trace explains each hit and each dropped candidate.
        """
        request = self._make_search_request(
            query, scope, limit, as_of, kinds, where, history, checkout
        )
        return self._require_open().shared_reads.search(request, counts_use=True)

    def explain(  # noqa: PLR0913 - the options of search
        self,
        query: str,
        *,
        scope: Place,
        limit: int | None = None,
        as_of: Moment = None,
        kinds: Sequence[Kind] = (),
        where: Filter | None = None,
        history: bool = False,
        checkout: Path | None = None,
    ) -> SearchResult:
        """Search in the same way as ``search``, without counting use."""
        request = self._make_search_request(
            query, scope, limit, as_of, kinds, where, history, checkout
        )
        return self._require_open().shared_reads.search(request, counts_use=False)

    def _make_search_request(  # noqa: PLR0913 - the options of search
        self,
        query: str,
        scope: Place,
        limit: int | None,
        as_of: Moment,
        kinds: Sequence[Kind],
        where: Filter | None,
        history: bool,
        checkout: Path | None,
    ) -> ReadRequest:
        if limit is None:
            limit = self.settings.read.limit
        else:
            limit = min(check_count(limit, "limit"), self.settings.limits.results)
        return ReadRequest(
            text=query,
            scope=Scope.of(scope),
            now=self._clock(),
            limit=limit,
            as_of=to_as_of(as_of),
            kinds=to_names(Kind, kinds),
            where=to_where(where),
            history=history,
            checkout=checkout,
            tolerates_spelling=True,
        )

    def used(self, ids: str | Sequence[str], *, scope: Place, helpful: bool = True) -> None:
        """Report the memories that an answer used.

        ``helpful``: True adds 0.05 to their confidence and 1 to their strength, and links them
        with each other if ``usage.related_weight`` is set. False takes 0.1 from the confidence.
        """
        records = self.inspect.list_editable(ids, scope)
        self._require_open().usage.record_feedback(records, Scope.of(scope).owner, helpful)

    def context(  # noqa: PLR0913 - keyword options of one context
        self,
        query: str,
        *,
        scope: Place,
        tokens: int | None = None,
        limit: int | None = None,
        as_of: Moment = None,
        session: str = "",
        before: Sequence[Turn | Meta] = (),
        cut_ratio: float | None = None,
        least_probability: float = 0.0,
        shown: Collection[str] | None = None,
        checkout: Path | None = None,
        where: Filter | None = None,
    ) -> Context:
        """Render memory as text for a prompt, within ``tokens`` of ``read.tokenizer``.

        ``tokens``: budget (None: ``read.context_tokens``). ``limit``: most hits,
        besides ``read.episodes`` episodes. ``cut_ratio``: 0..1, share of the best score below which hits
        are cut (None: ``read.cut_ratio``).
        ``least_probability``: 0..1, hits that help with less probability are left out. ``before``: the
        messages of the conversation so far; they complete a query that says little by itself ("what
        do you suggest?").

        A query that only thanks or agrees recalls nothing, and so does a query that hardly needs
        memory (``read.least_need``). With ``summary.enabled`` the summary of the conversation comes
        first; the conversation is ``scope`` if that names one, else ``session`` in it. ``shown``: ids of
        memories that the reader of ``session`` has already. They and what that session said are
        left out, and there is no profile. ``checkout``: folder of the code with which memories are
        compared; what it no longer has is left out or marked. ``where``:
        everything in the context passes this filter; the summary and the last messages, which have no
        metadata to filter by, are left out.
        """
        reads = self._require_open().reads
        read_scope = Scope.of(scope)
        text, conversation = query, ""
        said_before = frozenset[str]()
        if before:
            text, conversation = extract_turn_query([*before, {"role": "user", "content": query}])
            said_before = frozenset(
                message.text if isinstance(message, Turn) else str(message.get("content", ""))
                for message in before
            )
        request = ReadRequest(
            text=text,
            conversation=conversation,
            said_before=said_before,
            scope=read_scope,
            now=self._clock(),
            limit=self.settings.read.most_in_context if limit is None else limit,
            as_of=to_as_of(as_of),
            cut_ratio=cut_ratio,
            least_probability=least_probability,
            checkout=checkout,
            where=to_where(where),
            adds_episodes=True,
        )
        if shown is not None:
            request = replace(
                request, already_given=frozenset(shown), session=session, omits_profile=True
            )
        if as_of is None and where is None:
            tail = reads.find_tail(read_scope)
            request = replace(
                request,
                last_turns=tuple(turn for turn in tail if turn.text not in said_before),
                summary=reads.find_summary(read_scope, session),
            )
        return self._components.shared_reads.build_context(request, tokens)

    def deliver(
        self,
        query: str | Sequence[Turn | Meta],
        *,
        scope: Place,
        session: str,
        tokens: int | None = None,
        limit: int | None = None,
        checkout: Path | None = None,
    ) -> Context:
        """Render the context of one turn of a conversation.

        ``query``: the turn's text, or the messages so far. With ``delivery.mode`` ``sync`` the
        context is computed now. With ``pending`` it is the one computed during the turn before, which
        may be empty. Memories that the conversation was shown in the last ``delivery.shown_minutes``,
        or that it said itself, are left out. ``checkout``: as of ``context``.
        """
        components = self._require_open()
        reads = components.reads
        read_scope = Scope.of(scope)
        is_silent = reads.is_silent(read_scope, session)
        key = f"{read_scope.key}|{session}"
        text, conversation = extract_turn_query(query)
        request = ReadRequest(
            text=text,
            conversation=conversation,
            scope=read_scope,
            now=self._clock(),
            limit=self.settings.read.most_in_context if limit is None else limit,
            session=session,
            hides_own=bool(self.settings.delivery.shown_minutes),
            adds_episodes=True,
            checkout=checkout,
        )
        if is_silent:
            return reads.build_context(request, tokens)
        is_first_turn = components.delivery.is_first_turn(key) and not reads.is_begun(
            read_scope, session, text
        )

        def read(already_shown: frozenset[str], topic_changed: bool) -> Context:
            # Called once more in the background for the next turn: time and summary are new then.
            turn_request = replace(
                request,
                now=self._clock(),
                already_shown=already_shown,
                catch_up=is_first_turn,
                topic_changed=topic_changed,
                summary=reads.find_summary(read_scope, session),
            )
            return components.shared_reads.build_context(turn_request, tokens)

        def refresh(context: Context) -> Context:
            return reads.drop_changed(context, text, read_scope)

        return components.delivery.deliver(key, DeliveryQuery(text, conversation), read, refresh)

    def chat(
        self,
        messages: str | Sequence[Meta],
        *,
        scope: Place,
        session: str = "",
        limit: int | None = None,
    ) -> AnsweredChat:
        """Answer by the chat model with recalled memories, and store both messages.

        ``messages``: a person's words, or the conversation so far. ``limit``: largest number of
        memories; 0: none. SettingsError: no chat model is configured.
        """
        return answer_chat(self, messages, Scope.of(scope), session, limit)

    def get(self, id: str, *, scope: Place) -> Record:
        """Get one memory of this owner by its id, or by its first six characters or more.

        InputError: several ids begin with ``id``. NotFoundError: there is no such memory.
        """
        return self.inspect.get(id, scope=scope)

    def list(self, *, scope: Place, **fields: Unpack[ListFields]) -> RecordPage:
        """List memories by their fields, newest first.

        ``fields``: ``kinds``, ``statuses``, ``tags``, ``text``, ``where``, ``as_of``, ``limit``,
        ``after`` and others of ``ports.RecordQuery``. InputError: a field is unknown, or its value
        does not fit it.
        """
        return self.inspect.list(scope=scope, **fields)

    def history(self, id: str, *, scope: Place) -> tuple[HistoryEntry, ...]:
        """List every change of one memory, oldest first."""
        return self.inspect.history(id, scope=scope)

    def load(  # noqa: PLR0913 - the fields of ImportOptions
        self,
        source: Path | str | Iterable[Any],
        *,
        scope: Place,
        format: str = "auto",
        skip_bad: bool = False,
        ignored: bool = False,
        user: str = "",
        progress: Progress | None = None,
    ) -> ImportCounts:
        """Import a file, folder or zip; ``-`` is standard input.

        ``format``: ``auto`` detects it. ``skip_bad``: import the readable parts of broken files.
        ``ignored``: import files that ``.gitignore`` or ``.secretsignore`` name too. ``user``: the user
        whose memories to import, if the file has several. A repeated import stores nothing twice.
        ``imports.undo`` undoes an import by the id in its report. InputError: the file cannot be read
        or has no known format.
        """
        return self.imports.load(
            source,
            Scope.of(scope),
            ImportOptions(format, skip_bad, ignored=ignored, user=user),
            progress,
        )

    def add_document(
        self,
        path: Path | str,
        *,
        scope: Place,
        note: str = "",
        progress: Progress | None = None,
    ) -> ImportCounts:
        """Add a document, or all those of a folder or zip: searches find its passages.

        ``path``: also the address of a page of the web; addresses inside a private network are refused.

        PDF, Word, PowerPoint, Excel, OpenDocument, EPUB, HTML, mail, contacts, calendars, Markdown
        and text are read. Of pictures (PNG, JPEG, WebP, GIF, HEIC) and sound (WAV, MP3, M4A, OGG) the
        file is kept, and found by name, time and ``note``: words about it, 800 characters at most.
        Nothing is learned from a document: its words are not the user's. One that is there already is
        not stored twice; a changed one takes the place of the earlier version.
        ``documents`` lists them. InputError: the file cannot be read; the hint says what to do.
        """
        return self.documents.add(path, scope, progress, note=note)

    def dump(
        self,
        path: Path,
        *,
        scope: Place,
        format: ExportFormat = "jsonl",
        progress: Progress | None = None,
    ) -> int:
        """Export the memories of a scope into a file or folder; return their number.

        InputError: ``path`` cannot be written, or lies in the home or the vault.
        """
        from engrams.transfer.exports import check_target, dump

        check_target(path, self.settings)
        return dump(path, visible_scopes(Scope.of(scope)), self.store, format, progress)

    def scopes(self, owner: Place | None = None) -> tuple[Scope, ...]:
        """List the scopes that contain memories (None: of every owner)."""
        return self.inspect.scopes(owner)

    def quarantine(self, *, scope: Place, limit: int = 20) -> tuple[KeptOutText, ...]:
        """List the newest messages with parts that nothing was learned from, and why.

        Such as a pasted mail: it is stored, but its words are not the user's. ``let_in`` makes them
        the user's own.
        """
        from engrams.engine.kept_out_texts import list_kept_out

        return tuple(list_kept_out(visible_scopes(Scope.of(scope)), self.store, limit))

    def let_in(self, id: str, *, scope: Place) -> Receipt:
        """Learn from the foreign parts of a message, as if the user had said them.

        They are stored as a note of the user. NotFoundError: the message has no such part.
        """
        from engrams.extract.own_words import split_own_words
        from engrams.write.ingest_request import IngestRequest

        record = self.get(id, scope=scope)
        parts = split_own_words(record, record.text).foreign
        if not parts:
            raise NotFoundError(
                "Nothing of this memory was kept out.", hint="`engrams quarantine` lists what was."
            )
        text = "\n\n".join(part.statement for part in parts)
        turn = Turn(text, session=record.session, meta={CONFIRMED: record.id})
        return self._add(
            IngestRequest(
                (turn,), record.scope, Kind.NOTE, lease=self._make_lease(), is_let_in=True
            )
        )

    def stats(self, scope: Place | None = None) -> dict[str, Any]:
        """Count memories by their fields, and vectors by model; report today's model use.

        ``scope``: None counts all owners together.
        """
        return self.inspect.stats(scope)

    def status(self) -> dict[str, Any]:
        """Count jobs by kind and state, list dead jobs, and report today's model use.

        ``lag_seconds``: age of the oldest due job. ``active``: running and failing jobs, described.
        ``pace``: seconds that the model needs for an answer. ``queue_seconds``: seconds that it needs
        for the waiting jobs. ``upkeep``: jobs that wait for their hours or their budget.
        """
        return self.inspect.status()

    def retry(self, ids: Sequence[str] = ()) -> int:
        """Queue dead jobs again (no ids: all of them); return their number."""
        components = self._require_open()
        count = self._store.retry(ids, self._clock())
        components.runner.wake()
        return count

    def drain(self, timeout: float = 30, progress: Progress | None = None) -> bool:
        """Run due jobs in this thread, for ``timeout`` seconds at most; return True if none is left."""
        components = self._require_open()
        components.usage.flush()
        is_done = components.runner.drain(timeout, progress)
        if self.vault is not None:
            self.vault.write()
        return is_done

    def check(self, repair: bool = False) -> Meta:
        """Check the files of the store. ``repair``: rebuild data that can be derived from the rest."""
        return self.store.check(repair)

    def manage(
        self,
        content: str = "",
        action: Action = "create",
        id: str = "",
        *,
        scope: Place,
        metadata: Meta = NO_META,
    ) -> str:
        """Create, change or forget a memory; return its id.

        ``metadata``: stored as ``meta``, which filters see; an update adds to it. InputError: there
        is no such action, ``create`` has an id, another action has none, or there is no content.
        RefusedError: what is to be updated is forgotten. Other errors are those of ``add``,
        ``edit`` and ``forget``.
        """
        check_action(content, action, id, metadata)
        if action == "create":
            return self.add(Turn(content, meta=metadata), scope=scope, kind=Kind.NOTE).id
        if action == "update":
            record = self.get(id, scope=scope)
            check_updatable(record)
            fields = {"meta": {**record.meta, **metadata}} if metadata else {}
            return self.edit(
                id, scope=scope, text=content, fields=fields, reason="an agent changed it"
            ).id
        return self.forget(id, scope=scope, reason="an agent put it away").id

    def flush(
        self,
        messages: Sequence[Meta],
        *,
        scope: Place,
        session: str = "",
        reason: FlushReason = "trim",
    ) -> bool:
        """Store messages that leave the prompt; return False if there is nothing new.

        The same messages are stored once, by their ids, or without ids by their words.
        They are also written into the daily note if ``vault.enabled`` is on.
        InputError: a message has no role, or an unknown one; nothing is stored.
        """
        return self.summaries.flush(messages, scope=scope, session=session, reason=reason)

    def dream(self, days: int = 3, *, scope: Place, force: bool = False) -> bool:
        """Summarise today, then move lasting facts from recent notes into MEMORY.md.

        Days before it without a summary get one. ``days``: notes of so many days, at most 30.
        ``force``: also if nothing is new. Returns False if nothing was new, or if ``vault.enabled``
        is off, so that there are no notes. InputError: ``days`` is no whole number from 1.
        ModelError: the chat model failed, or gave no plan that can be used. MEMORY.md stays as it
        was, and the next dream reads the same notes again.
        """
        check_count(days, "days", 1)
        if self.vault is None:
            return False
        self.drain()
        return self.vault.dream(Scope.of(scope).owner, days, force=force)

    def format_for_injection(
        self, query: str = "", *, scope: Place, max_tokens: int | None = None
    ) -> str:
        """Format memory as prompt text within a token budget (None: ``read.context_tokens``)."""
        return self.context(query, scope=scope, tokens=max_tokens).text

    def close(self) -> None:
        """Let running jobs finish, end sessions and close the store. A second call does nothing.

        ``sessions.end_on_close`` sets which sessions end. Waiting jobs run in the next process. A call
        of the model that takes longer than ``sessions.shutdown_seconds`` is cut off, and its job
        waits.
        """
        if self._closed:
            return
        self._closed = True
        components = self._components
        components.delivery.close()
        components.usage.close()
        close_model = self.chat_model.close if isinstance(self.chat_model, Closable) else None
        components.close(close_model)
        if close_model is not None:
            close_model()
        self._store.close()

    def __enter__(self) -> MemoryEngine:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    @property
    def inspect(self) -> MemoryInspector:
        """Read-only view of memories, links, topics, jobs and numbers."""
        return self._require_open().inspect

    code = EnginePart(EngineComponents.code)
    links = EnginePart(EngineComponents.links)
    sessions = EnginePart(EngineComponents.sessions)
    summaries = EnginePart(EngineComponents.summaries)
    updates = EnginePart(EngineComponents.updates, while_open=True)
    nearness = EnginePart(EngineComponents.nearness)
    tiers = EnginePart(EngineComponents.tiers)
    topics = EnginePart(EngineComponents.topics)
    garden = EnginePart(EngineComponents.garden)
    review = EnginePart(EngineComponents.review)
    imports = EnginePart(EngineComponents.imports)
    documents = EnginePart(EngineComponents.documents)
    sync = EnginePart(EngineComponents.sync)
    spaces = EnginePart(EngineComponents.spaces)

    @LazyPart
    def control(self) -> MemoryCommandHandler:
        """Requests about memory itself, in words."""
        from engrams.session.commands import MemoryCommandHandler

        return MemoryCommandHandler(self, self._store, self.sessions, self.sessions.open_questions)

    @property
    def skills(self) -> SkillRecordSource | None:
        """Knowledge in files beside memory; None without a folder of it."""
        return self._deps.skills

    @property
    def vault(self) -> MemoryFiles | None:
        """Memory as files; None without ``vault.enabled``. See ``admin.get_vault``."""
        return self._deps.files

    @property
    def store(self) -> Store:
        """The store, for ``admin`` and tests; surfaces read through ``inspect``."""
        self._require_open()
        return self._store

    @property
    def work(self) -> JobWorkerPool:
        """The workers that run jobs."""
        return self._components.runner

    def now(self) -> datetime:
        """Return the engine's time."""
        return self._clock()

    def _require_open(self) -> EngineComponents:
        """Return the components. ClosedError: the engine is closed."""
        if self._closed:
            raise ClosedError
        return self._components
