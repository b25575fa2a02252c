"""Commands space: memories that several people of one home or server share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from engrams.surfaces.cli.confirm import confirm_erase
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import clean, emit, note, print_table, say

if TYPE_CHECKING:
    from engrams.spaces import Space

app = new_app()
space = new_app()
app.add_typer(space, name="space", help="Share a memory with other people of this home or server.")

SpaceName = Annotated[str, typer.Argument(help="Name of the space.", metavar="SPACE")]
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
    _print_members(shown, options)


@space.command()
@flatten_options
def add(
    name: SpaceName,
    member: MemberName,
    options: GlobalOptions,
    role: Annotated[
        str,
        typer.Option(
            "--role",
            help="reader: searches; editor: also adds and changes memories; owner: also members.",
        ),
    ] = "editor",
) -> None:
    """Add a person to a space, or change the person's role."""
    with options.open() as (engine, scope):
        changed = engine.spaces.set_role(name, member, role, scope=scope)
    _print_members(changed, options)


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
    """Leave a space. What you told it stays there."""
    with options.open() as (engine, scope):
        engine.spaces.leave(name, scope=scope)
    if options.json:
        emit({"space": name, "left": True})
        return
    say(f"You are no member of {clean(name)} any more. What you told it stays there.")


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


def _print_members(shown: Space, options: GlobalOptions) -> None:
    if options.json:
        emit(shown)
        return
    print_table(
        ["member", "role", "since"],
        [[member.label, member.role, f"{member.since:%Y-%m-%d}"] for member in shown.members],
    )
