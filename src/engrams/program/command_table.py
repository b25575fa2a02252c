"""Names of the commands and of their common options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Command(NamedTuple):
    """Command of the program."""

    module: str
    """Module that defines it in its ``app``; loaded when the command is called."""

    help: str
    """Line in `engrams --help`."""


COMMANDS: dict[str, Command] = {
    "init": Command(
        "engrams.surfaces.cli.init",
        "Set memory up: find a language model, try it, write config.toml.",
    ),
    "add": Command("engrams.surfaces.cli.add_command", "Remember something."),
    "search": Command(
        "engrams.surfaces.cli.search_commands", "Find memories that answer a question."
    ),
    "context": Command(
        "engrams.surfaces.cli.search_commands", "Print memory as prompt text within a token budget."
    ),
    "explain": Command("engrams.surfaces.cli.search_commands", "Explain the results of a search."),
    "list": Command("engrams.surfaces.cli.browse", "List memories by their fields."),
    "projects": Command(
        "engrams.surfaces.cli.browse", "List projects and how many memories each has."
    ),
    "show": Command(
        "engrams.surfaces.cli.browse", "Show one memory with all its fields and its history."
    ),
    "history": Command("engrams.surfaces.cli.browse", "Show every change of one memory."),
    "edit": Command("engrams.surfaces.cli.write_commands", "Change a memory."),
    "forget": Command(
        "engrams.surfaces.cli.write_commands", "Forget memories; restore brings them back."
    ),
    "restore": Command(
        "engrams.surfaces.cli.write_commands", "Undo forget, or restore a backup file."
    ),
    "purge": Command(
        "engrams.surfaces.cli.write_commands", "Erase memories for good and show the proof."
    ),
    "link": Command("engrams.surfaces.cli.links", "Link two memories."),
    "tag": Command("engrams.surfaces.cli.links", "Tag a memory, or list the tags."),
    "related": Command("engrams.surfaces.cli.links", "Show memories linked to one memory."),
    "entities": Command(
        "engrams.surfaces.cli.links",
        "List people, places and other things, or the memories about one.",
    ),
    "used": Command(
        "engrams.surfaces.cli.links",
        "Report that recalled memories were used, and whether they helped.",
    ),
    "recall": Command(
        "engrams.surfaces.cli.links",
        "Recall the newest memories, or those that a question and links lead to.",
    ),
    "certificate": Command(
        "engrams.surfaces.cli.certificate",
        "Check a certificate.",
    ),
    "proof": Command(
        "engrams.surfaces.cli.proof",
        "Prove what a memory is made of, or what was believed at a time.",
    ),
    "documents": Command(
        "engrams.surfaces.cli.documents_command",
        "List the documents in memory, or show, forget or erase one.",
    ),
    "watch": Command(
        "engrams.surfaces.cli.watch_command",
        "Keep the documents of a folder in memory as its files are.",
    ),
    "quarantine": Command(
        "engrams.surfaces.cli.quarantine",
        "Show pasted texts that nothing was learned from, or let one in.",
    ),
    "secrets": Command(
        "engrams.surfaces.cli.secrets",
        "Find secrets in what is stored, and remove them.",
    ),
    "project": Command(
        "engrams.surfaces.cli.project_page",
        "Write the memory of a project as a page that a team commits.",
    ),
    "verify": Command(
        "engrams.surfaces.cli.verify_code",
        "Compare the memories of a project with its code.",
    ),
    "import": Command(
        "engrams.surfaces.cli.transfer", "Import conversations and memories from files."
    ),
    "export": Command("engrams.surfaces.cli.transfer", "Export memories to a file or folder."),
    "stats": Command("engrams.surfaces.cli.status_commands", "Count memories."),
    "status": Command(
        "engrams.surfaces.cli.status_commands", "Show background work: jobs, backlog, failures."
    ),
    "calibrate": Command(
        "engrams.surfaces.cli.status_commands",
        "Choose from which nearness on a memory counts as near.",
    ),
    "retry": Command("engrams.surfaces.cli.status_commands", "Run failed jobs again."),
    "garden": Command(
        "engrams.surfaces.cli.garden",
        "Maintain memory: plan, run or undo merging, pruning and linking.",
    ),
    "config": Command(
        "engrams.surfaces.cli.status_commands", "Show every setting with its value and origin."
    ),
    "doctor": Command(
        "engrams.surfaces.cli.doctor", "Check that everything works, with a hint for each failure."
    ),
    "hook": Command(
        "engrams.program.hook",
        "Answer a coding agent's hook: recall into its prompts, store its messages.",
    ),
    "install": Command(
        "engrams.program.install",
        "Connect a coding agent to memory: shows the change, asks, undoes.",
    ),
    "chat": Command("engrams.surfaces.cli.chat", "Talk to memory in the terminal."),
    "serve": Command("engrams.program.serve", "Serve the HTTP API, the proxy and the web page."),
    "work": Command(
        "engrams.program.work", "Run background jobs, beside servers on the same memory."
    ),
    "service": Command(
        "engrams.surfaces.cli.systemd_service", "Run the server from login on, by systemd."
    ),
    "keys": Command("engrams.surfaces.cli.keys", "Create, list and revoke API keys of the server."),
    "safety": Command(
        "engrams.surfaces.cli.safety", "Store, list and purge records of detected crises."
    ),
    "feedback": Command(
        "engrams.surfaces.cli.feedback", "Store, list and purge people's ratings of their sessions."
    ),
    "mcp": Command("engrams.program.mcp", "Serve memory to agents over MCP."),
    "demo": Command(
        "engrams.surfaces.cli.demo", "Import a sample conversation and ask it questions."
    ),
    "sync": Command(
        "engrams.surfaces.cli.sync_commands",
        "Synchronise devices, or files and memory.",
    ),
    "space": Command(
        "engrams.surfaces.cli.space_commands",
        "Share a memory with other people.",
    ),
    "log": Command(
        "engrams.surfaces.cli.vault_commands",
        "Show the history of the files: author, change, time, reason.",
    ),
    "diff": Command("engrams.surfaces.cli.vault_commands", "Show changes in the files."),
    "blame": Command(
        "engrams.surfaces.cli.vault_commands",
        "Show the commit and author of each line of a memory's file.",
    ),
    "revert": Command(
        "engrams.surfaces.cli.vault_commands", "Undo one commit; later changes are kept."
    ),
    "reindex": Command(
        "engrams.surfaces.cli.vault_commands",
        "Rebuild the database from the files, or the files from it.",
    ),
    "dream": Command(
        "engrams.surfaces.cli.vault_commands",
        "Move lasting facts from the daily notes into MEMORY.md.",
    ),
    "backup": Command(
        "engrams.surfaces.cli.vault_commands", "Write memory and files to one checked backup file."
    ),
    "recover": Command(
        "engrams.surfaces.cli.vault_commands", "Restore a backup into a home without memory."
    ),
    "encrypt": Command(
        "engrams.surfaces.cli.encrypt",
        "Encrypt the home, change its key, decrypt it, or show how it is.",
    ),
    "move": Command(
        "engrams.surfaces.cli.postgres_move",
        "Copy all memory to Postgres, or from there to a file.",
    ),
    "migrate": Command(
        "engrams.surfaces.cli.postgres_move",
        "Make the tables of a Postgres database, or bring them up to date.",
    ),
}
"""Name -> module and one-line help; `engrams --help` loads no module.

Commands over memory are in `surfaces.cli`; those that start another surface are in this package.
"""

SERVED = frozenset({"add", "context", "retry", "search", "status"})
"""Commands that a running server answers, as it does hooks."""

_FLAGS = frozenset({"--json", "--test", "--verbose"})
_VALUED = frozenset(
    {
        "--home",
        "--preset",
        "--set",
        "--user",
        "-u",
        "--agent",
        "--project",
        "--conversation",
        "-c",
        "--space",
    }
)
"""Options of every command, which may also stand before it."""


def arrange(arguments: Sequence[str]) -> list[str]:
    """Put common options behind the command, and ``help COMMAND`` as ``COMMAND --help``."""
    index = 0
    while index < len(arguments):
        word = arguments[index]
        if word not in _FLAGS and word.partition("=")[0] not in _VALUED:
            break
        index += 1 if word in _FLAGS or "=" in word else 2
    options = list(arguments[:index])
    command = list(arguments[index : index + 1])
    own_arguments = list(arguments[index + 1 :])
    if command == ["help"]:
        return [*(word for word in own_arguments[:1] if not word.startswith("-")), "--help"]
    return [*command, *options, *own_arguments]
