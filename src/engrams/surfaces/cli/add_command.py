"""Command add: store texts and messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engrams.core import ImportOptions, to_conversation_name
from engrams.core.ids import derive_arrival_id
from engrams.engine.memory_labels import MemoryLabels, add_labels
from engrams.errors import EngramsError, InputError, RefusedError
from engrams.ipc.call_identity import IDENTITY
from engrams.ipc.command_server import DeclinedCallError
from engrams.ipc.served_command import CURRENT
from engrams.spaces.speakers import sign_turn
from engrams.surfaces.cli.filter_options import ScopeOptions, parse_name, parse_when
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import emit, fit_line, note
from engrams.surfaces.cli.render import print_receipt

if TYPE_CHECKING:
    from engrams.core import Kind, Receipt, Role, Turn
    from engrams.engine import MemoryEngine

app = new_app()

_ROLES: tuple[Role, ...] = ("user", "assistant", "system", "tool")
_SETTLE = 2.0
"""Seconds that `add` gives to the work after a write, where no model does it."""
_LONGEST_PATH = 1000
_LATER = 3600
"""Seconds by which a commit of a worker is put off."""


@dataclass(frozen=True)
class TurnOptions:
    """Options that describe the speaker and time of a memory."""

    kind: Annotated[
        str | None,
        typer.Option(
            "--kind",
            "-k",
            help="The kind: note, fact, turn (a message), … (default: note).",
            show_default=False,
            metavar="KIND",
        ),
    ] = None
    speaker: Annotated[
        str | None,
        typer.Option(
            help="The speaker; stores it as a message.", show_default=False, metavar="NAME"
        ),
    ] = None
    role: Annotated[
        str | None,
        typer.Option(
            help="The speaker's role: user, assistant, system, tool; stores it as a message.",
            show_default=False,
            metavar="ROLE",
        ),
    ] = None
    session: Annotated[
        str, typer.Option(help="The session it belongs to.", show_default=False, metavar="ID")
    ] = ""
    at: Annotated[
        str | None,
        typer.Option(
            help="The time it was said (default: now).", show_default=False, metavar="TIME"
        ),
    ] = None
    caption: Annotated[
        str,
        typer.Option(
            help="Description of an attached picture or file.", show_default=False, metavar="TEXT"
        ),
    ] = ""
    external_id: Annotated[
        str,
        typer.Option(
            "--id",
            help="Your own id for it: a repeated id is stored once.",
            show_default=False,
            metavar="ID",
        ),
    ] = ""

    def read_turns(self, texts: list[str], file: str | None) -> Iterator[tuple[Turn, Kind, str]]:
        """Yield each turn to store, with its kind and conversation."""
        from engrams.core import Kind, Turn
        from engrams.transfer import formats

        role: Role = next((role for role in _ROLES if role == self.role), "user")
        if self.role not in (None, role):
            raise InputError(
                f"There is no role {self.role!r}.", hint=f"Known: {', '.join(_ROLES)}."
            )
        at = parse_when(self.at, "--at")
        is_message = self.speaker is not None or self.role is not None
        if self.kind:
            kind = parse_name(Kind, self.kind, "kind")
        elif is_message:
            kind = Kind.TURN
        else:
            kind = Kind.NOTE
        for text in texts:
            if text != formats.STDIN:
                yield (
                    Turn(
                        text=text,
                        role=role,
                        speaker=self.speaker or "",
                        at=at,
                        session=self.session,
                        external_id=self.external_id,
                        caption=self.caption,
                    ),
                    kind,
                    "",
                )
        for origin in dict.fromkeys([file, *(text for text in texts if text == formats.STDIN)]):
            for item in formats.parse_memories(formats.read_text(origin), "") if origin else ():
                if isinstance(item, formats.UnreadablePiece):
                    note(f"error: item {item.line}: {item.message}")
                    continue
                is_message_item = item.kind is Kind.TURN
                turn = item.turn
                turn = replace(
                    turn,
                    role=turn.role if is_message_item else role,
                    speaker=turn.speaker or self.speaker or "",
                    at=turn.at or at,
                )
                yield (
                    replace(turn, session=turn.session or self.session),
                    item.kind if is_message_item else kind,
                    item.conversation,
                )


@dataclass(frozen=True)
class LabelOptions:
    """Options that go beside the text of a memory."""

    triggers: Annotated[
        list[str] | None,
        typer.Option(
            "--trigger",
            help="A phrase in a question that brings up this rule, procedure or negative. Repeatable.",
            show_default=False,
            metavar="TEXT",
        ),
    ] = None
    steps: Annotated[
        list[str] | None,
        typer.Option(
            "--step",
            help="A step of this procedure, in order. Repeatable.",
            show_default=False,
            metavar="TEXT",
        ),
    ] = None
    prerequisites: Annotated[
        list[str] | None,
        typer.Option(
            "--prerequisite",
            help="What must be so before this procedure begins. Repeatable.",
            show_default=False,
            metavar="TEXT",
        ),
    ] = None
    warnings: Annotated[
        list[str] | None,
        typer.Option(
            "--warning",
            help="A warning of this procedure. Repeatable.",
            show_default=False,
            metavar="TEXT",
        ),
    ] = None
    category: Annotated[
        str,
        typer.Option(
            help="Its category: entity, or one of your own.", show_default=False, metavar="NAME"
        ),
    ] = ""

    def collect(self) -> MemoryLabels:
        return MemoryLabels(
            triggers=tuple(self.triggers or ()),
            steps=tuple(self.steps or ()),
            prerequisites=tuple(self.prerequisites or ()),
            warnings=tuple(self.warnings or ()),
            category=self.category,
        )


@app.command()
@flatten_options
def add(  # noqa: PLR0913 - options of a command
    options: GlobalOptions,
    part: ScopeOptions,
    turn_options: TurnOptions,
    label_options: LabelOptions,
    texts: Annotated[
        list[str] | None,
        typer.Argument(
            help="The text to remember, or a document's path or address; `-` reads standard input.",
            show_default=False,
        ),
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(
            "--file",
            "-f",
            help="File with a JSON list or one text a line; `-`: standard input.",
            show_default=False,
            metavar="FILE",
        ),
    ] = None,
    document_note: Annotated[
        str,
        typer.Option(
            "--note",
            help="Your words about a document, picture or sound.",
            show_default=False,
            metavar="TEXT",
        ),
    ] = "",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
    versioned: Annotated[
        bool,
        typer.Option(
            "--git-versioning", help="Also write it to a file and commit the file to git."
        ),
    ] = False,
) -> None:
    """Remember something: a text, a document (PDF, Word, Excel, mail, …), a picture or a sound.

    When this returns it is durable and the next search finds it. Nothing is learned from a document.
    """
    if not texts and not file:
        raise InputError(
            "There is nothing to add.",
            hint="Give a text in quotes, -f FILE, or - to read standard input.",
        )
    _decline_input(texts or (), file)
    if documents := _list_documents(texts or ()):
        _require_documents(documents, texts or (), file)
        from engrams.surfaces.cli.transfer import import_files

        plan = ImportOptions("document", note=document_note or turn_options.caption)
        import_files(part.choose_project(options), documents, plan)
        return
    _refuse_note(document_note)
    _refuse_ignored(options, file)
    turns = list(turn_options.read_turns(list(texts or ()), file))
    is_single = file is None and len(texts or ()) == 1
    if versioned:
        # The commit below names what was added; a worker's would come before it.
        git_settings = ["vault.enabled=true", "vault.git=true", f"vault.git_seconds={_LATER}"]
        options = replace(options, overrides=[*options.overrides, *git_settings])
    options = part.choose_project(options)
    with options.open() as (engine, scope):
        checkout = options.find_checkout(engine.settings)
        writer = _TurnWriter(
            engine,
            scope,
            label_options.collect(),
            is_single=is_single,
            checkout=checkout,
        )
        speaker = options.find_speaker(engine)
        for number, (turn, kind, conversation) in enumerate(turns):
            if speaker:
                turn = sign_turn(turn, speaker)  # noqa: PLW2901
            receipt = writer.write(turn, kind, conversation, number)
            if receipt is not None and not (quiet or options.json):
                print_receipt(receipt, turn.text)
        receipts = writer.receipts
        if engine.chat_model is None and receipts:
            engine.drain(_SETTLE)  # the next command sees the facts that a message ended
        if versioned and receipts and engine.vault is not None:
            engine.vault.write()
            engine.vault.commit(
                f"Add {len(receipts)} {'memory' if len(receipts) == 1 else 'memories'}"
            )
    if options.json and not quiet:
        emit(receipts[0] if is_single and len(receipts) == 1 else receipts)
    if writer.first_error is not None:
        raise writer.first_error
    _require_stored(receipts, engine)


@dataclass
class _TurnWriter:
    """Stores turns one by one; the failure of one does not stop the others."""

    engine: MemoryEngine
    scope: tuple[str, ...]
    labels: MemoryLabels
    is_single: bool
    """True: the call has one text, whose failure is that of the command."""
    checkout: Path | None = None
    """Folder of the project's code, which a text may name."""
    receipts: list[Receipt] = field(default_factory=list)
    first_error: EngramsError | None = None

    def write(self, turn: Turn, kind: Kind, conversation: str, number: int) -> Receipt | None:
        """Store one turn; None: it was refused, which is printed.

        ``conversation``: that of an imported item; empty: the command's. ``number``: the turn's
        index in the call.
        """
        scope = self.scope
        if conversation:
            # An item's own conversation counts more than the command's.
            above = scope[:-2] if scope[-2] == "conversation" else scope
            scope = (*above, "conversation", to_conversation_name(conversation))
        try:
            if self.checkout is not None:
                (turn,) = self.engine.code.anchor([turn], self.checkout)
            self.engine.check_storable(*self.labels.list_texts())
            receipt = _add_once(self.engine, turn, scope, kind, number)
            add_labels(self.engine, receipt, self.labels)
        except (InputError, RefusedError) as problem:
            if self.is_single:
                raise
            quote = f" ({fit_line(turn.text, 40)})" if isinstance(problem, InputError) else ""
            note(f"error: {problem.message}{quote}")
            self.first_error = self.first_error or problem
            return None
        self.receipts.append(receipt)
        return receipt


def _require_stored(receipts: Sequence[Receipt], engine: MemoryEngine) -> None:
    """Check that anything was stored. InputError: no item was read. RefusedError: none may be."""
    if not receipts:
        raise InputError(
            "The input contains nothing to add.",
            hint="Give a JSON list, or a line for each memory.",
        )
    if all(receipt.outcome == "refused" for receipt in receipts):
        rule = "write.secrets" if engine.settings.enabled else "enabled"
        raise RefusedError(
            "Nothing was stored.",
            hint=f"The receipt says why; `engrams config {rule}` shows the rule.",
        )


def _require_documents(documents: Sequence[str], texts: Sequence[str], file: str | None) -> None:
    """Refuse texts beside documents. InputError: there are some."""
    if file or len(documents) < len(texts):
        raise InputError(
            f"{documents[0]} is a document, and the rest is not.",
            hint="Add documents and texts by separate commands.",
        )


def _refuse_note(note: str) -> None:
    """Refuse a note without a document. InputError: there is one."""
    if note:
        raise InputError(
            "--note belongs to a document, a picture or a sound.",
            hint="Give the path of its file, or add the text by itself.",
        )


def _decline_input(texts: Sequence[str], file: str | None) -> None:
    """Refuse to run in a server what reads a file or standard input of the caller."""
    if CURRENT.get() and (file or "-" in texts):
        raise DeclinedCallError("it reads a file or standard input")


def _list_documents(texts: Sequence[str]) -> list[str]:
    """List the texts that are paths or addresses of documents.

    A word that happens to be the name of a folder is none: a folder is written with a slash.
    """
    served = CURRENT.get()
    folder = served.call.folder if served else Path()
    documents = [text for text in texts if _is_document(text, folder)]
    if documents and served:
        raise DeclinedCallError("it reads a document")
    return documents


def _is_document(text: str, folder: Path) -> bool:
    if len(text) > _LONGEST_PATH or "\n" in text:
        return False
    if text.startswith(("https://", "http://")):
        return not any(map(str.isspace, text))
    path = folder / Path(text).expanduser()
    try:
        return path.is_file() if path.suffix else "/" in text and path.exists()
    except (OSError, ValueError):  # a text that no path can be
        return False


def _refuse_ignored(options: GlobalOptions, file: str | None) -> None:
    """Refuse a file that holds keys, or that its project ignores. RefusedError: it is one."""
    if file is None:
        return
    from engrams.transfer import formats
    from engrams.transfer.imports.importer import find_excluding_rule

    if file == formats.STDIN:
        return
    root = Path(options.load().settings.write.ignore_root or ".")
    if rule := find_excluding_rule(Path(file), root):
        raise RefusedError(
            f"{file} is not stored: the rule {rule} excludes it.",
            hint="`engrams import --include-ignored` stores such a file all the same.",
        )


def _add_once(
    engine: MemoryEngine, turn: Turn, scope: tuple[str, ...], kind: Kind, number: int
) -> Receipt:
    """Store a turn once, even if a server stored it and then broke off.

    The id follows from the identity of the call and from ``number``, the turn's index in it: a
    repeated call makes the same ids.
    """
    call = IDENTITY.get()
    if call is None:
        return engine.add(turn, scope=scope, kind=kind)
    turn = replace(turn, id=derive_arrival_id(turn.at or call.at, call.at, call.key, number))
    receipt = engine.add(turn, scope=scope, kind=kind)
    return (
        replace(receipt, outcome="stored")
        if (receipt.outcome, receipt.id) == ("duplicate", turn.id)
        else receipt
    )
