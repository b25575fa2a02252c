"""Run commands for other processes with an open engine.

A server and an MCP server do so: a command that asks them need not open memory itself.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from typer.exceptions import TyperException

from engrams.errors import ClosedError, EncryptionError, EngramsError
from engrams.ipc import command_server
from engrams.ipc.call_identity import IDENTITY, CallIdentity
from engrams.ipc.command_server import CommandCall, CommandReply, DeclinedCallError
from engrams.ipc.served_command import CURRENT, OpenHome, ServedCommand
from engrams.program.command_table import SERVED, arrange
from engrams.program.main import load_command
from engrams.surfaces.cli.failures import describe_failure, exit_code, print_error

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine
    from engrams.settings import Settings


def serve_commands(
    engine: MemoryEngine,
    settings: Settings,
    configured: Settings | None = None,
    note_call: Callable[[], None] = lambda: None,
) -> AbstractContextManager[None]:
    """Answer commands of other processes with an open engine while the block runs.

    ``configured``: the settings before the server took its upstream as memory's model.
    ``note_call``: called before and after each command.
    """
    if settings.is_volatile:
        return nullcontext()
    home = OpenHome(engine, settings, configured or settings)

    def run(call: CommandCall) -> CommandReply:
        note_call()
        served = ServedCommand(call, home)
        current = CURRENT.set(served)
        identity = IDENTITY.set(CallIdentity(call.key, call.at))
        try:
            return served.reply(_run_command(call))
        finally:
            CURRENT.reset(current)
            IDENTITY.reset(identity)
            note_call()

    return command_server.serve_commands(settings.home.expanduser(), run)


def _run_command(call: CommandCall) -> int:
    """Run one command line; return its exit code.

    DeclinedCallError: its caller has to run it.
    """
    arguments = arrange(call.arguments)
    if arguments[:1] == ["hook"]:
        from engrams.surfaces.hook.run import run_served

        return run_served(arguments[1:])
    if not arguments or arguments[0] not in SERVED:
        raise DeclinedCallError("it is no command for a server")
    try:
        return int(load_command()(arguments, prog_name="engrams", standalone_mode=False) or 0)
    except TyperException:
        raise DeclinedCallError("the command line is wrong") from None
    except ClosedError:
        raise DeclinedCallError("the server stops") from None
    except EncryptionError:
        raise DeclinedCallError("the server does not have the home's key") from None
    except EngramsError as error:
        print_error(error, as_json="--json" in arguments)
        return exit_code(error)
    except OSError as error:
        print_error(describe_failure(error), as_json="--json" in arguments)
        return 1
