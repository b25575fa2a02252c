"""Commands link, tag, related, entities, used and recall."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from engrams.errors import InputError, NotFoundError
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import clean, emit, note, paint, print_table, say
from engrams.surfaces.cli.render import record_line

if TYPE_CHECKING:
    from engrams.core import Entity, RelatedMemory

app = new_app()

Id = Annotated[str, typer.Argument(help="The memory's id, or its first six characters or more.")]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, help="At most this many.", metavar="N")]


@app.command()
@flatten_options
def link(
    id: Id,
    other_id: Annotated[str, typer.Argument(help="The id of the other memory.", metavar="OTHER")],
    options: GlobalOptions,
    weight: Annotated[
        float, typer.Option(min=0, max=1, help="Strength of the link.", metavar="SHARE")
    ] = 0.5,
    type: Annotated[
        str, typer.Option(help="The type of link; a wrong name lists them.", metavar="TYPE")
    ] = "relates_to",
    remove: Annotated[bool, typer.Option("--remove", help="Remove the link instead.")] = False,
) -> None:
    """Link two memories, so that finding one leads to the other."""
    with options.open() as (engine, scope):
        if remove:
            if not engine.links.unlink(id, other_id, scope=scope, type=type):
                raise NotFoundError(
                    "There is no such link.", hint="A link has a direction and a type."
                )
            edge = None
        else:
            edge = engine.links.link(id, other_id, scope=scope, type=type, weight=weight)
    if options.json:
        emit({"removed": True} if edge is None else edge)
    else:
        say(
            paint("unlinked", "yellow")
            if edge is None
            else f"{paint('linked', 'green')}  {edge.source}  {edge.type}  {edge.target}"
        )


@app.command()
@flatten_options
def used(
    ids: Annotated[
        list[str], typer.Argument(help="Ids of memories, or their first six characters or more.")
    ],
    options: GlobalOptions,
    unhelpful: Annotated[
        bool, typer.Option("--unhelpful", help="They did not help: lower their confidence.")
    ] = False,
) -> None:
    """Report that recalled memories were used, and whether they helped."""
    with options.open() as (engine, scope):
        engine.used(ids, scope=scope, helpful=not unhelpful)
        records = [engine.get(id, scope=scope) for id in ids]
    if options.json:
        emit(records)
        return
    for record in records:
        usage = f"confidence {record.confidence:.2f}, strength {record.strength}"
        say(
            f"{paint('noted', 'green')}  {paint(record.id, 'dim')}  {usage} "
            f" {record_line(record, 80)}"
        )


@app.command()
@flatten_options
def tag(
    options: GlobalOptions,
    id: Annotated[
        str | None,
        typer.Argument(help="The memory's id. Default: list all tags.", show_default=False),
    ] = None,
    tags: Annotated[
        list[str] | None, typer.Argument(help="Tags to add.", show_default=False)
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove these tags instead.")] = False,
) -> None:
    """Tag a memory, or list all tags with counts."""
    if id is not None and not tags:
        raise InputError(
            "No tag was given.",
            hint="Write engrams tag ID TAG …; `engrams tag` alone lists the tags.",
        )
    with options.open() as (engine, scope):
        if id is None:
            counts = engine.links.tags(scope)
        else:
            change = engine.links.untag if remove else engine.links.tag
            record = change(id, tags or (), scope=scope)
    if id is not None:
        if options.json:
            emit(record)
        else:
            say(f"{paint(record.id, 'dim')}  {', '.join(map(clean, record.tags)) or 'no tags'}")
    elif options.json:
        emit(counts)
    elif counts:
        print_table(("memories", "tag"), [[str(number), name] for name, number in counts.items()])
    else:
        note("No tags.")


@app.command()
@flatten_options
def related(
    id: Id,
    options: GlobalOptions,
    depth: Annotated[
        int, typer.Option(min=1, max=5, help="Number of steps along links.", metavar="N")
    ] = 2,
    limit: Limit = 10,
) -> None:
    """Show what links, tags and topics lead to from one memory."""
    with options.open() as (engine, scope):
        _print_related(engine.links.related(id, scope=scope, depth=depth, limit=limit), options)


@app.command()
@flatten_options
def entities(
    options: GlobalOptions,
    name: Annotated[
        str, typer.Argument(help="Its name. Default: list all.", show_default=False)
    ] = "",
    limit: Limit = 50,
) -> None:
    """List people, places and other things, or the memories about one."""
    from engrams.core import Scope

    with options.open() as (engine, scope):
        listed = engine.inspect.entities(scope).entities
        if not name:
            _print_entities(listed[:limit], options)
            return
        entity_name = name.casefold().removeprefix("entity:")
        entity = next(
            (candidate for candidate in listed if entity_name in _names_of(candidate)), None
        )
        if entity is None:
            raise NotFoundError(
                f"No memory mentions {name!r} as a person, place or thing.",
                hint="`engrams entities` lists them.",
            )
        records = engine.inspect.records(Scope.of(scope).owner, entity.memories[:limit])
    if options.json:
        emit({"entity": entity, "memories": records})
        return
    _print_entities((entity,), options)
    for record in records:
        say(f"{paint(record.id, 'dim')}  {record_line(record, 100)}")


def _names_of(entity: Entity) -> set[str]:
    return {
        entity.id.removeprefix("entity:"),
        *(name.casefold() for name in (entity.name, *entity.aliases)),
    }


def _print_entities(entities: tuple[Entity, ...], options: GlobalOptions) -> None:
    if options.json:
        emit({"entities": entities})
    elif not entities:
        note("No memory mentions a person, place or thing yet.")
    else:
        rows = [
            [
                str(len(entity.memories)),
                entity.kind,
                clean(entity.name),
                clean(", ".join(entity.aliases)),
            ]
            for entity in entities
        ]
        print_table(("memories", "kind", "name", "also"), rows)


@app.command()
@flatten_options
def recall(
    options: GlobalOptions,
    query: Annotated[
        str,
        typer.Argument(help="The question. Default: the newest memories.", show_default=False),
    ] = "",
    mode: Annotated[
        Literal["recent", "semantic", "cascade"] | None,
        typer.Option(
            help=(
                "recent: the newest; semantic: search results; cascade: search results and linked"
                " memories."
            ),
            show_default=False,
        ),
    ] = None,
    limit: Limit = 10,
) -> None:
    """Recall memories: the newest, or what a question leads to over links."""
    with options.open() as (engine, scope):
        _print_related(engine.links.recall(query, scope=scope, mode=mode, limit=limit), options)


def _print_related(memories: tuple[RelatedMemory, ...], options: GlobalOptions) -> None:
    if options.json:
        emit(
            {
                "memories": [
                    {"record": memory.record, "score": round(memory.score, 6)}
                    for memory in memories
                ]
            }
        )
        return
    if not memories:
        note("Nothing found.")
    for memory in memories:
        say(
            f"{paint(f'{memory.score:.2f}', 'green')}  {paint(memory.record.id, 'dim')} "
            f" {record_line(memory.record, 100)}"
        )
