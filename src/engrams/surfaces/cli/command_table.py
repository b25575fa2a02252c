"""Names of the commands and of their common options."""

from __future__ import annotations

from collections.abc import Sequence

COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("init", "Set memory up: find a language model, try it, write config.toml."),
    "add": ("write_commands", "Remember something."),
    "search": ("search_commands", "Find memories that answer a question."),
    "context": ("search_commands", "Print memory as prompt text within a token budget."),
    "explain": ("search_commands", "Explain the results of a search."),
    "list": ("browse", "List memories by their fields."),
    "projects": ("browse", "List projects and how many memories each has."),
    "show": ("browse", "Show one memory with all its fields and its history."),
    "history": ("browse", "Show every change of one memory."),
    "edit": ("write_commands", "Change a memory."),
    "forget": ("write_commands", "Forget memories; restore brings them back."),
    "restore": ("write_commands", "Undo forget, or restore a backup file."),
    "purge": ("write_commands", "Erase memories for good and show the proof."),
    "link": ("links", "Link two memories."),
    "tag": ("links", "Tag a memory, or list the tags."),
    "related": ("links", "Show memories linked to one memory."),
    "entities": (
        "links",
        "List people, places and other things, or the memories about one.",
    ),
    "used": ("links", "Report that recalled memories were used, and whether they helped."),
    "recall": (
        "links",
        "Recall the newest memories, or those that a question and links lead to.",
    ),
    "import": ("transfer", "Import conversations and memories from files."),
    "export": ("transfer", "Export memories to a file or folder."),
    "stats": ("status_commands", "Count memories."),
    "status": ("status_commands", "Show background work: jobs, backlog, failures."),
    "calibrate": ("status_commands", "Choose from which nearness on a memory counts as near."),
    "retry": ("status_commands", "Run failed jobs again."),
    "garden": (
        "garden",
        "Maintain memory: plan, run or undo merging, pruning and linking.",
    ),
    "config": ("status_commands", "Show every setting with its value and origin."),
    "doctor": ("doctor", "Check that everything works, with a hint for each failure."),
    "hook": ("hook", "Answer a coding agent's hook: recall into its prompts, store its messages."),
    "install": (
        "install",
        "Connect a coding agent to memory: shows the change, asks, undoes.",
    ),
    "chat": ("chat", "Talk to memory in the terminal."),
    "serve": ("serve", "Serve the HTTP API, the proxy and the web page."),
    "work": ("work", "Run background jobs, beside servers on the same memory."),
    "service": ("systemd_service", "Run the server from login on, by systemd."),
    "keys": ("keys", "Create, list and revoke API keys of the server."),
    "safety": ("safety", "Store, list and purge records of detected crises."),
    "feedback": ("feedback", "Store, list and purge people's ratings of their sessions."),
    "mcp": ("mcp", "Serve memory to agents over MCP."),
    "demo": ("demo", "Import a sample conversation and ask it questions."),
    "sync": ("vault_commands", "Synchronise files and memory, and the remote if one is set."),
    "log": ("vault_commands", "Show the history of the files: author, change, time, reason."),
    "diff": ("vault_commands", "Show changes in the files."),
    "blame": ("vault_commands", "Show the commit and author of each line of a memory's file."),
    "revert": ("vault_commands", "Undo one commit; later changes are kept."),
    "reindex": ("vault_commands", "Rebuild the database from the files, or the files from it."),
    "dream": ("vault_commands", "Move lasting facts from the daily notes into MEMORY.md."),
    "backup": ("vault_commands", "Write memory and files to one checked backup file."),
    "recover": ("vault_commands", "Restore a backup into a home without memory."),
    "encrypt": ("encrypt", "Encrypt the home, change its key, decrypt it, or show how it is."),
    "move": ("postgres_move", "Copy all memory to Postgres, or from there to a file."),
    "migrate": (
        "postgres_move",
        "Make the tables of a Postgres database, or bring them up to date.",
    ),
}
"""Name -> module and one-line help; `engrams --help` loads no module."""

SERVED = frozenset({"add", "context", "retry", "search", "status"})
"""Commands that a running server answers, as it does hooks."""

_FLAGS = frozenset({"--json", "--test", "--verbose"})
_VALUED = frozenset(
    {"--home", "--preset", "--set", "--user", "-u", "--agent", "--project", "--conversation", "-c"}
)
"""Options of every command, which may also stand before it."""


def arrange(arguments: Sequence[str]) -> list[str]:
    """Reorder arguments: common options behind the command, help as --help."""
    first = 0
    while first < len(arguments) and (
        arguments[first] in _FLAGS or arguments[first].partition("=")[0] in _VALUED
    ):
        first += 1 if arguments[first] in _FLAGS or "=" in arguments[first] else 2
    options = list(arguments[:first])
    rest = list(arguments[first:])
    if rest[:1] == ["help"]:
        return [*(word for word in rest[1:2] if not word.startswith("-")), "--help"]
    return [*rest[:1], *options, *rest[1:]] if rest else options
