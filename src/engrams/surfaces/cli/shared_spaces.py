"""Show spaces that several homes share, and what their exchanges did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engrams.surfaces.cli.output import clean, format_iso, note, paint, print_table, say

if TYPE_CHECKING:
    from engrams.sync.exchange import ExchangeReport, SpaceExchange
    from engrams.sync.space_sync import SharedSpaceStatus
    from engrams.sync.waiting_purges import WaitingPurge


def print_sharing(sharing: SharedSpaceStatus) -> None:
    """Print the homes that share a space."""
    say(f"shared by {clean(sharing.address)}")
    if sharing.has_changes or sharing.to_send:
        say("Something here is not told yet: engrams sync now")
    rows = [
        [
            home.id,
            clean(home.label),
            str(home.role),
            "this home" if home.is_this else "home" if home.kind == "device" else home.kind,
            format_iso(home.last_seen),
        ]
        for home in sharing.homes
    ]
    print_table(("id", "name", "role", "what", "last told"), rows, {0: "yellow"})
    for purge in sharing.purges:
        say_waiting(purge)


def say_waiting(purge: WaitingPurge) -> None:
    """Say who did not confirm a purge yet."""
    names = ", ".join(clean(name) for name in purge.waiting_for)
    noun = "memory" if purge.memories == 1 else "memories"
    say(paint(f"{purge.memories} purged {noun}: not yet confirmed by {names}", "yellow"))


def say_space(exchange: SpaceExchange) -> None:
    """Say what the exchange of a space did."""
    name = f"space {clean(exchange.space)}"
    if exchange.ended:
        say(f"{name}: you are no member any more. Its copy here is erased.")
    elif exchange.report is None:
        note(f"{name}: {clean(exchange.problem)}")
    else:
        say(f"{name}: {describe_report(exchange.report)}")
        note_report(exchange.report, exchange.space)


def describe_report(report: ExchangeReport) -> str:
    """Describe the counts of an exchange in a line."""
    names = ("sent", "added", "changed", "conflicts", "purged", "cleaned")
    parts = [f"{name} {getattr(report, name)}" for name in names if getattr(report, name)]
    return ", ".join(parts) or "Nothing new."


def note_report(report: ExchangeReport, space: str = "") -> None:
    """Note what an exchange left open. ``space``: name of the space that was exchanged."""
    if report.conflicts:
        option = f" --space {clean(space)}" if space else ""
        note(f"`engrams garden conflicts{option}` shows texts that were changed twice at once.")
    for sentence in filter(None, (report.remains, report.unsent)):
        note(sentence)
    for name in report.waiting:
        note(f"{clean(name)}: not whole yet, or this device has no key for it")
    for name in report.refused:
        note(f"not taken over: {clean(name)}")
