"""Static page of the board."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

COLUMNS = {
    "recall": (
        "Recall",
        "%, more is better: share of the messages a prompt needs among the first 10",
    ),
    "precision": (
        "Precision",
        "%, more is better: share of right ones among what goes into a prompt",
    ),
    "silence": ("Silence", "%, more is better: prompts that need no memory and get none"),
    "stale": ("Stale", "%, less is better: outdated messages that are shown as if they held"),
    "tokens": ("Tokens", "put into a prompt that needs memory, on average"),
    "forgotten": ("Forgotten", "the deleted word in all files, byte by byte"),
    "tampering": ("Tampering", "one word changed in its files while it was closed"),
    "add_ms": ("Add", "milliseconds of the processor for a message"),
    "search_ms": ("Search", "milliseconds of the processor, median"),
}
_STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:78rem;margin:2rem auto;padding:0 1rem;
color:#222;background:#fff}table{border-collapse:collapse;width:100%}caption{text-align:left}
th,td{border-bottom:1px solid #ccc;padding:.4rem .6rem;text-align:left;vertical-align:top}
code{background:#f2f2f2;padding:0 .2rem}.scroll{overflow-x:auto}
@media(prefers-color-scheme:dark){body{background:#161616;color:#ddd}code{background:#2a2a2a}
th,td{border-color:#444}}"""


def render_page(board: Mapping[str, Any]) -> str:
    """Render the board: figures, method, versions and what each peer is not made for."""
    peers = board["peers"]
    head = "".join(f'<th scope="col">{escape(title)}</th>' for title, _ in COLUMNS.values())
    rows = "".join(_render_row(peer) for peer in peers.values())
    meanings = "".join(
        f"<li><b>{escape(title)}</b>: {escape(text)}.</li>" for title, text in COLUMNS.values()
    )
    details = "".join(_render_details(name, peer) for name, peer in peers.items())
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Memories side by side</title><style>{_STYLE}</style></head><body>
<h1>Memories side by side</h1>
<p>All run on one machine, without a network and without a language model. A system that extracts facts
by a model is measured without its main part. Raw figures: <a href="board.json">board.json</a>. All of
it again: <code>python -m bench.board</code>.</p>
<div class="scroll"><table><caption>Figures by system</caption>
<thead><tr><th scope="col">System</th>{head}</tr></thead><tbody>{rows}</tbody></table></div>
<h2>Method</h2>
<p>The messages of {len(board["worlds"])} invented people and teams
({escape(", ".join(board["worlds"]))}) are told in order, the person's own words only. Then their
prompts are sent. Which messages a prompt needs, and which are out of date, was written by hand, before
any system was run. These worlds are of engrams' makers: its settings were not chosen by them, but a
stranger's data would be the fairer judge. A system without a say of its own puts its first five hits
into each prompt. Systems that want vectors get those of engrams' own table of words.</p>
<ul>{meanings}</ul>
<h2>Systems</h2>
<dl>{details}</dl>
<p>Machine: {escape(str(board["machine"]))}</p>
</body></html>
"""


def _render_row(peer: Mapping[str, Any]) -> str:
    title = f'<th scope="row">{escape(peer["title"])}</th>'
    if "failure" in peer:
        return f'<tr>{title}<td colspan="{len(COLUMNS)}">{escape(peer["failure"])}</td></tr>'
    cells = "".join(f"<td>{_format(peer.get(column))}</td>" for column in COLUMNS)
    return f"<tr>{title}{cells}</tr>"


def _format(value: Any) -> str:
    return "–" if value is None else escape(str(value))


def _render_details(name: str, peer: Mapping[str, Any]) -> str:
    about = escape(str(peer.get("about", "not run")))
    return (
        f"<dt><b>{escape(peer['title'])}</b></dt><dd>{escape(peer['purpose'])}<br>{about}<br>"
        f"Its row again: <code>python -m bench.board --only {escape(name)}</code></dd>"
    )
