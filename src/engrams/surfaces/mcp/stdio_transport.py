"""Standard input and output as a transport of MCP."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp.server.stdio import stdio_server
from mcp.shared._stream_protocols import WriteStream
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError


@asynccontextmanager
async def open_stdio() -> AsyncIterator[
    tuple[MemoryObjectReceiveStream[SessionMessage | Exception], WriteStream[SessionMessage]]
]:
    """Open the streams of a server.

    The SDK drops a request with half a character, as of an emoji that was cut, unanswered; here
    that becomes a question mark.
    """
    async with stdio_server() as (read, write):
        sender, receiver = anyio.create_memory_object_stream[SessionMessage | Exception](0)

        async def forward() -> None:
            async with sender:
                async for item in read:
                    await sender.send(mend_message(item))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(forward)
            yield receiver, write
            tasks.cancel_scope.cancel()


def mend_message(item: SessionMessage | Exception) -> SessionMessage | Exception:
    """Parse a refused message without its lone surrogates; others stay."""
    line = item.errors()[0]["input"] if isinstance(item, ValidationError) else None
    if not isinstance(line, str) or "\\ud" not in line.lower():
        return item
    try:
        text = json.dumps(json.loads(line), ensure_ascii=False).encode("utf-8", "replace")
        return SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
    except ValueError:
        return item
