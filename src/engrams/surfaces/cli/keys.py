"""Commands keys: API keys of the server."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer

from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import clean, emit, format_time, note, paint, print_table, say

app = new_app()
keys = new_app()
app.add_typer(keys, name="keys", help="Create, list and revoke API keys of the server.")

_RIGHTS = ("read", "write")


@keys.command()
@flatten_options
def add(
    name: Annotated[str, typer.Argument(help="A label for the key.")],
    options: GlobalOptions,
    right: Annotated[
        list[str],
        typer.Option("--right", help="read, write, admin or proxy. Repeatable.", metavar="NAME"),
    ] = list(_RIGHTS),  # noqa: B006 - typer copies it
    days: Annotated[
        int, typer.Option(min=0, help="Days until the key expires; 0: never.", metavar="N")
    ] = 365,
    minute: Annotated[
        int,
        typer.Option(
            "--minute-requests", min=0, help="Requests a minute; 0: no limit.", metavar="N"
        ),
    ] = 0,
    daily: Annotated[
        int,
        typer.Option(
            "--daily-requests", min=0, help="Requests a day (UTC); 0: no limit.", metavar="N"
        ),
    ] = 0,
) -> None:
    """Create a key to one person's memory (--user).

    It is shown once: only its hash is stored.
    """
    from engrams import admin
    from engrams.core import Scope, clock

    settings = options.load().settings
    owner = Scope(options.scope(settings)).owner
    with (
        closing(admin.open_keys(settings)) as key_store,
        closing(admin.open_audit_log(settings)) as log,
    ):
        key, secret = key_store.add(name, owner, right, clock.now(), days, (minute, daily))
        log.note("key.add", owner=owner.key, target=key.id)
    if options.json:
        emit({**_key_to_dict(key), "key": secret})
        return
    say(secret)
    ends = f"until {format_time(key.expires_at)}" if key.expires_at else "without expiry"
    memory = (
        f"the memory of {clean(owner.key)}"
        if options.user
        else f"your own memory ({clean(owner.key)}); --user makes one for another person"
    )
    note(
        f"{key.id}: {', '.join(key.rights)} for {memory}, {ends}. Store it now: it is not shown"
        " again."
    )
    if settings.serve.upstream and "proxy" not in key.rights:
        note(
            "This key cannot use the model server. Chats need `--right read --right write --right"
            " proxy`."
        )


@keys.command(name="list")
@flatten_options
def list_(options: GlobalOptions) -> None:
    """List all keys, with revoked and expired ones."""
    from engrams import admin
    from engrams.core import clock

    with closing(admin.open_keys(options.load().settings)) as key_store:
        listed_keys = key_store.list()
        problems = key_store.find_problems()
    if options.json:
        emit({"keys": [_key_to_dict(key) for key in listed_keys], "problems": list(problems)})
        return
    for problem in problems:
        note(f"{problem} Delete it and add a new key; `engrams doctor --accept` ends this note.")
    if not listed_keys:
        say("No keys. `engrams keys add NAME --user WHOSE` makes one.")
        return
    moment = clock.now()
    rows = []
    for key in listed_keys:
        if key.revoked_at:
            state = "revoked"
        elif key.is_live(moment):
            state = "live"
        else:
            state = "expired"
        rows.append(
            [
                key.id,
                state,
                clean(key.owner.key),
                ",".join(key.rights),
                format_time(key.expires_at) or "never",
                clean(key.name),
            ]
        )
    print_table(["id", "state", "owner", "rights", "expires", "name"], rows)


@keys.command()
@flatten_options
def revoke(
    id: Annotated[str, typer.Argument(help="The key's id, as `engrams keys list` shows it.")],
    options: GlobalOptions,
) -> None:
    """Revoke a key at once, on a running server too."""
    from engrams import admin
    from engrams.core import clock

    settings = options.load().settings
    with (
        closing(admin.open_keys(settings)) as key_store,
        closing(admin.open_audit_log(settings)) as log,
    ):
        now = clock.now()
        key = key_store.revoke(id, now)
        is_new = key.revoked_at == now
        if is_new:
            log.note("key.revoke", owner=key.owner.key, target=key.id)
    if options.json:
        emit(_key_to_dict(key))
    else:
        say(
            f"{paint('revoked', 'green') if is_new else f'revoked already, at {format_time(key.revoked_at)}'}"
            f"  {key.id}"
        )


def _key_to_dict(key: object) -> dict[str, object]:
    """Return a key without its hash."""
    names = (
        "id",
        "name",
        "owner",
        "rights",
        "created_at",
        "expires_at",
        "revoked_at",
        "minute_requests",
        "daily_requests",
    )
    return {name: getattr(key, name) for name in names}
