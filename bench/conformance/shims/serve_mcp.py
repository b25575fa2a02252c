"""Serve the fixtures of the MCP conformance suite with our server class, on a free port; print its
URL.

The suite calls tools, resources and prompts by names that it defines. They stand on
``StrictMcpServer`` and its application, so that what is judged are the server's own parts: the
handshake, lists, errors, streams, subscriptions, completion, the check of host names.
"""

from __future__ import annotations

import json
import sys
from base64 import b64decode
from itertools import count
from typing import Any

import anyio
import uvicorn
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp.server.mcpserver.tools import Tool
from mcp_types import (
    AudioContent,
    Completion,
    EmbeddedResource,
    EmptyResult,
    ImageContent,
    SamplingMessage,
    SetLevelRequestParams,
    TextContent,
    TextResourceContents,
)

from engrams.surfaces.mcp.server import StrictMcpServer, create_app, listen, mcp_url

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
NAMED = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {
            "type": "string",
            "enum": ["active", "inactive", "pending"],
            "default": "active",
        },
        "verified": {"type": "boolean", "default": True},
    },
    "required": [],
}
CHOICES = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
        "titledSingle": {
            "type": "string",
            "oneOf": [{"const": f"value{n}", "title": f"Option {n}"} for n in (1, 2, 3)],
        },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option 1", "Option 2", "Option 3"],
        },
        "untitledMulti": {
            "type": "array",
            "items": {"type": "string", "enum": ["option1", "option2", "option3"]},
        },
        "titledMulti": {
            "type": "array",
            "items": {"anyOf": [{"const": f"value{n}", "title": f"Option {n}"} for n in (1, 2, 3)]},
        },
    },
    "required": [],
}
ADDRESSED = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}
Form = dict[str, Any]
server = StrictMcpServer("conformance", "Fixtures of the conformance suite.", count().__next__)


def make_resource(uri: str, text: str, mime_type: str = "text/plain") -> EmbeddedResource:
    return EmbeddedResource(
        type="resource", resource=TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    )


@server.tool()
def test_simple_text() -> str:
    """Fixture of the suite: a tool."""
    return "This is a simple text response for testing."


@server.tool()
def test_image_content() -> list[ImageContent]:
    """Fixture of the suite: a tool."""
    return [ImageContent(type="image", data=PIXEL, mime_type="image/png")]


@server.tool()
def test_audio_content() -> list[AudioContent]:
    """Fixture of the suite: a tool."""
    return [AudioContent(type="audio", data=SILENCE, mime_type="audio/wav")]


@server.tool()
def test_embedded_resource() -> list[EmbeddedResource]:
    """Fixture of the suite: a tool."""
    return [make_resource("test://embedded-resource", "This is an embedded resource content.")]


@server.tool()
def test_multiple_content_types() -> list[TextContent | ImageContent | EmbeddedResource]:
    """Fixture of the suite: a tool."""
    mixed = make_resource(
        "test://mixed-content-resource",
        json.dumps({"test": "data", "value": 123}),
        "application/json",
    )
    text = TextContent(type="text", text="Multiple content types test:")
    return [text, ImageContent(type="image", data=PIXEL, mime_type="image/png"), mixed]


@server.tool()
def test_error_handling() -> str:
    """Fixture of the suite: a tool."""
    message = "This tool intentionally returns an error for testing"
    raise ValueError(message)


@server.tool()
async def test_tool_with_logging(context: Context) -> str:
    """Fixture of the suite: a tool."""
    for step in ("started", "processing data", "completed"):
        await context.info(f"Tool execution {step}")
        await anyio.sleep(0.05)
    return "logged"


@server.tool()
async def test_tool_with_progress(context: Context) -> str:
    """Fixture of the suite: a tool."""
    for done in (0, 50, 100):
        await context.report_progress(done, 100)
        await anyio.sleep(0.05)
    return "done"


@server.tool()
async def test_sampling(prompt: str, context: Context) -> str:
    """Fixture of the suite: a tool."""
    message = SamplingMessage(role="user", content=TextContent(type="text", text=prompt))
    answer = await context.session.create_message(
        [message], max_tokens=100, related_request_id=context.request_id
    )
    return f"LLM response: {answer.content.text}"


async def ask(context: Context, message: str, form: Form) -> str:
    """Ask on the stream of the call, which is open; the client's other one may not be yet."""
    answer = await context.session.elicit_form(message, form, related_request_id=context.request_id)
    return f"User response: action={answer.action}, content={json.dumps(answer.content)}"


@server.tool()
async def test_elicitation(message: str, context: Context) -> str:
    """Fixture of the suite: a tool."""
    fields = {"username": {"type": "string"}, "email": {"type": "string"}}
    return await ask(
        context, message, {"type": "object", "properties": fields, "required": list(fields)}
    )


@server.tool()
async def test_elicitation_sep1034_defaults(context: Context) -> str:
    """Fixture of the suite: a tool."""
    return await ask(context, "Please confirm", NAMED)


@server.tool()
async def test_elicitation_sep1330_enums(context: Context) -> str:
    """Fixture of the suite: a tool."""
    return await ask(context, "Please choose", CHOICES)


@server.tool()
async def test_reconnection(context: Context) -> str:
    """Fixture of the suite: a tool."""
    await context.close_sse_stream()
    await anyio.sleep(0.2)
    return "Reconnection test completed"


@server.resource("test://static-text", mime_type="text/plain")
def static_text() -> str:
    """Fixture of the suite: a resource."""
    return "This is the content of the static text resource."


@server.resource("test://static-binary", mime_type="image/png")
def static_binary() -> bytes:
    """Fixture of the suite: a resource."""
    return b64decode(PIXEL)


@server.resource("test://watched-resource", mime_type="text/plain")
def watched_resource() -> str:
    """Fixture of the suite: a resource."""
    return "Watched."


@server.resource("test://template/{id}/data", mime_type="application/json")
def template(id: str) -> str:
    """Fixture of the suite: a resource."""
    return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


@server.prompt()
def test_simple_prompt() -> str:
    """Fixture of the suite: a prompt."""
    return "This is a simple prompt for testing."


@server.prompt()
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """Fixture of the suite: a prompt."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@server.prompt()
def test_prompt_with_embedded_resource(
    resourceUri: str,  # noqa: N803 - the suite's name
) -> list[UserMessage]:
    """Fixture of the suite: a prompt."""
    held = make_resource(resourceUri, "Embedded resource content for testing.")
    return [UserMessage(held), UserMessage("Please process the embedded resource above.")]


@server.prompt()
def test_prompt_with_image() -> list[UserMessage]:
    """Fixture of the suite: a prompt."""
    return [
        UserMessage(ImageContent(type="image", data=PIXEL, mime_type="image/png")),
        UserMessage("Please analyse the image above."),
    ]


@server.completion()
async def complete(_of: object, _argument: object, _context: object) -> Completion:
    return Completion(values=["paris", "park", "party"], total=3, has_more=False)


async def set_level(_context: object, _level: SetLevelRequestParams) -> EmptyResult:
    return EmptyResult()


def json_schema(name: str = "", address: Form | None = None) -> str:
    """Fixture of the suite: a tool with a schema of the 2020-12 draft."""
    return f"{name} {address}"


def main() -> None:
    tool = Tool.from_function(json_schema, name="json_schema_2020_12_tool").model_copy(
        update={"parameters": ADDRESSED}
    )
    server._tool_manager._tools[tool.name] = tool
    server._lowlevel_server.add_request_handler(
        "logging/setLevel", SetLevelRequestParams, set_level
    )
    with listen("127.0.0.1", 0) as listener:
        sys.stdout.write(f"{mcp_url(listener)}\n")
        sys.stdout.flush()
        uvicorn.Server(uvicorn.Config(create_app(server), log_level="warning", ws="none")).run(
            sockets=[listener]
        )


if __name__ == "__main__":
    main()
