"""Console script `engrams`; quick commands skip the slow command parser.

`--help`, hooks, and commands that a running server answers end here; every other command goes on to
`main`. Loaded by every command: only small modules of the standard library.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from engrams.program.command_table import SERVED, arrange

_HELP_OPTIONS = frozenset({"-h", "--help"})
_WAIT_SECONDS = 3600.0
"""Time for a server that runs jobs; those take as long as they may."""
_FILE_ARGUMENTS = ("-", "-f", "--file")
"""Arguments by which a command reads a file or standard input."""


def run() -> NoReturn:
    """Run the console script."""
    arguments = arrange(sys.argv[1:])
    if arguments == ["--version"]:
        from engrams import __version__

        print(__version__)
        sys.exit(0)
    if arguments in (["--help"], ["-h"]):
        from engrams.program.command_help import format_overview

        sys.stdout.write(format_overview())
        sys.exit(0)
    if arguments[:1] == ["hook"] and not _HELP_OPTIONS & set(arguments):
        from engrams.surfaces.hook.entry import main

        sys.exit(main(arguments[1:]))
    if arguments and arguments[0] in SERVED and not _HELP_OPTIONS & set(arguments):
        try:
            code = ask_server(arguments)
        except KeyboardInterrupt:
            os._exit(130)
        except BrokenPipeError:
            os._exit(0)  # the reader (head, less) has gone
        if code is not None:
            os._exit(code)
    from engrams.program.main import run as command

    command()


def ask_server(arguments: Sequence[str]) -> int | None:
    """Have a running server run the command, and print its output; None: no server ran it.

    When this process then runs it, the memories that it stores get the ids that the server would
    have given them. So nothing is stored twice where only the answer was lost.
    """
    if any(word in _FILE_ARGUMENTS or word.startswith(("--file=", "-f")) for word in arguments):
        return None  # a server cannot read this process's input
    from engrams.ipc.command_client import MAX_SECONDS, CommandClient, find_option

    seconds = _WAIT_SECONDS if "--wait" in arguments else MAX_SECONDS
    client = CommandClient(arguments, find_option(arguments, "--home"), seconds=seconds)
    answer = client.ask()
    if answer is None:
        gc.disable()  # modules and an index are many lasting objects, and this command is short
        _share_identity(client.key, client.at, client.reason)
        return None
    if "--verbose" in arguments:
        sys.stderr.write(client.describe_answer(answered=True))
    for stream, text in ((sys.stdout, answer["out"]), (sys.stderr, answer["err"])):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
        stream.write(text)
        stream.flush()
    return int(answer["code"])


def _share_identity(key: str, at: float, reason: str) -> None:
    """Let the command that runs here use the key and time of the call."""
    from datetime import UTC, datetime

    from engrams.ipc.call_identity import IDENTITY, CallIdentity

    IDENTITY.set(CallIdentity(key, datetime.fromtimestamp(at, UTC), reason))


if __name__ == "__main__":
    run()
