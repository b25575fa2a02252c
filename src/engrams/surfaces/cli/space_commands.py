"""Commands space: memories that several people of one home or server share."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Annotated

import typer

from engrams.surfaces.cli.confirm import confirm_erase
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import clean, emit, note, print_table, say
from engrams.surfaces.cli.place_options import Login, ask_for_code, read_access
from engrams.surfaces.cli.shared_spaces import print_sharing

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine
    from engrams.spaces import Space
    from engrams.sync.space_sync import SharedSpaceStatus

app = new_app()
space = new_app()
app.add_typer(space, name="space", help="Share a memory with other people.")

SpaceName = Annotated[str, typer.Argument(help="Name of the space.", metavar="SPACE")]
PlaceAddress = Annotated[
    str,
    typer.Option(
        "--to",
        help="An empty place that all members reach, as for `engrams sync init`.",
        metavar="PLACE",
    ),
]
Role = Annotated[
    str,
    typer.Option(
        "--role",
        help="reader: searches; editor: also adds and changes memories; owner: also members.",
    ),
]
MemberName = Annotated[
    str, typer.Argument(help="The user's name, or the key of an owner: user/ann.", metavar="USER")
]


@space.command()
@flatten_options
def create(name: SpaceName, options: GlobalOptions) -> None:
    """Create a space that belongs to you.

    Example: engrams space create home, then engrams space add home bob.
    """
    with options.open() as (engine, scope):
        created = engine.spaces.create(name, scope=scope)
    if options.json:
        emit(created)
        return
    say(f"The space {clean(created.name)} is yours.")
    note(f"`engrams space add {clean(created.name)} USER` adds others.")


@space.command("list")
@flatten_options
def list_spaces(options: GlobalOptions) -> None:
    """List your spaces. Your searches and contexts include them."""
    with options.open(reads=True) as (engine, scope):
        spaces = engine.spaces.list(scope=scope)
    if options.json:
        emit({"spaces": spaces})
        return
    if not spaces:
        note("You are in no space. `engrams space create NAME` makes one.")
        return
    print_table(
        ["space", "you are", "members"],
        [[joined.name, joined.role, str(len(joined.members))] for joined in spaces],
    )


@space.command()
@flatten_options
def show(name: SpaceName, options: GlobalOptions) -> None:
    """Show the members of a space, and their roles."""
    with options.open(reads=True) as (engine, scope):
        shown = engine.spaces.get(name, scope=scope)
        sharing = engine.spaces.get_sharing(name, scope=scope)
    _print_members(shown, sharing, options)


@space.command()
@flatten_options
def add(
    name: SpaceName,
    member: MemberName,
    options: GlobalOptions,
    role: Role = "editor",
) -> None:
    """Add a person to a space, or change the person's role."""
    with options.open() as (engine, scope):
        changed = engine.spaces.set_role(name, member, role, scope=scope)
        sharing = engine.spaces.get_sharing(name, scope=scope)
        homes = {home.label for home in sharing.homes} if sharing else set()
        is_new = member not in homes and not _is_known(engine, member)
    _print_members(changed, sharing, options)
    if is_new and not options.json:
        note(
            f"Nobody called {clean(member)} has a memory or a key here yet. Check the name. Somebody with"
            " another home needs `engrams space invite`."
        )


@space.command()
@flatten_options
def share(
    name: SpaceName, address: PlaceAddress, options: GlobalOptions, login: Login = ""
) -> None:
    """Let other people's homes share a space, by a place that all of them reach.

    Whoever runs the place cannot read the space. Only the space travels, and nothing of your own.

    Example: engrams space share home --to ~/Sync/home, then engrams space invite home bob.
    """
    access = read_access(address, login)
    with options.open() as (engine, scope):
        sharing = engine.spaces.share(name, address, scope=scope, access=access)
    if options.json:
        emit(sharing)
        return
    say(f"The space {clean(name)} is shared by {clean(sharing.address)}.")
    note(f"`engrams space invite {clean(name)} NAME` invites somebody.")


@space.command()
@flatten_options
def invite(
    name: SpaceName,
    member: Annotated[
        str, typer.Argument(help="Name under which they speak in the space.", metavar="NAME")
    ],
    options: GlobalOptions,
    role: Role = "editor",
) -> None:
    """Show a code for somebody with another home; it works once."""
    with options.open() as (engine, scope):
        code = engine.spaces.invite(name, member, role, scope=scope)
    if options.json:
        emit({"code": code})
        return
    say(code)
    note(
        f"{clean(member)} types it after: engrams space join PLACE. PLACE holds the same files as your"
        " place. Give the code to nobody else."
    )


@space.command()
@flatten_options
def join(
    address: Annotated[str, typer.Argument(help="The place of the space.", metavar="PLACE")],
    options: GlobalOptions,
    code: Annotated[
        str,
        typer.Option(
            help="The code of `invite`. Default: it asks.",
            envvar="ENGRAMS_SPACE_CODE",
            show_default=False,
            metavar="TEXT",
        ),
    ] = "",
    own_name: Annotated[
        str,
        typer.Option(
            "--as",
            help="Name of the space on this home (default: the one that it has).",
            metavar="NAME",
        ),
    ] = "",
    login: Login = "",
) -> None:
    """Join the space that a code of `invite` is of, and take its memory over."""
    access = read_access(address, login)
    typed_code = code or ask_for_code()
    with options.open() as (engine, scope):
        joined = engine.spaces.join(address, typed_code, scope=scope, name=own_name, access=access)
    if options.json:
        emit(joined)
        return
    say(f"You are in the space {clean(joined.name)}, as {joined.role}.")
    note("`engrams sync now` exchanges it, `engrams sync watch` whenever something changes.")


@space.command()
@flatten_options
def remove(name: SpaceName, member: MemberName, options: GlobalOptions) -> None:
    """Remove a member, who reads nothing of the space from now on."""
    with options.open() as (engine, scope):
        engine.spaces.remove(name, member, scope=scope)
    if options.json:
        emit({"space": name, "removed": member})
        return
    say(f"{clean(member)} is no member of {clean(name)} any more. What was told there stays.")


@space.command()
@flatten_options
def leave(name: SpaceName, options: GlobalOptions) -> None:
    """Leave a space. What you told it stays there.

    If other homes share it, and nobody else of this home is in it, its copy here is erased.
    """
    with options.open() as (engine, scope):
        space_left = engine.spaces.leave(name, scope=scope)
    if options.json:
        emit({"space": name, "left": True})
        return
    say(f"You are no member of {clean(name)} any more. What you told it stays there.")
    if space_left.log is not None and len(space_left.members) == 1:
        note("Its copy on this home is erased. The other homes keep theirs.")


@space.command()
@flatten_options
def delete(
    name: SpaceName,
    options: GlobalOptions,
    confirm: Annotated[
        str,
        typer.Option("--confirm", help="The word purge; without it you are asked.", metavar="WORD"),
    ] = "",
) -> None:
    """Delete a space: erase its memory for good, for every member."""
    with options.open() as (engine, scope):
        members = engine.spaces.get(name, scope=scope).members
        confirm_erase(f"the space {name} with its memory, for {len(members)} members", confirm)
        report = engine.spaces.delete(name, scope=scope)
    if options.json:
        emit({"space": name, "proven": report.proven})
        return
    say(f"The space {clean(name)} and its memory are gone.")


def _is_known(engine: MemoryEngine, member: str) -> bool:
    """Return True for a person who has a memory or a key here."""
    from contextlib import closing

    from engrams.admin import open_keys
    from engrams.engine.memory_spaces import to_person

    person = to_person(member)
    if any(known.owner == person for known in engine.store.scopes(None)):
        return True
    with closing(open_keys(engine.settings, engine.store)) as keys:
        return any(key.owner.owner == person for key in keys.list())


def _print_members(shown: Space, sharing: SharedSpaceStatus | None, options: GlobalOptions) -> None:
    if options.json:
        content = {field.name: getattr(shown, field.name) for field in fields(shown)}
        emit({**content, "sharing": sharing})
        return
    print_table(
        ["member", "role", "since"],
        [[member.label, member.role, f"{member.since:%Y-%m-%d}"] for member in shown.members],
    )
    if sharing is not None:
        print_sharing(sharing)
