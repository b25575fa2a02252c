"""Open WebUI's own loader and filter runner around our filter: ``check_openwebui.py SOURCES FILE
URL``.

SOURCES: a folder with `open_webui/utils/plugin.py` and `filter.py` of the published wheel. Its
settings and tables are stood in for.
"""

from __future__ import annotations

import asyncio
import copy
import sys
import types
from pathlib import Path
from typing import Any

SOURCES = Path(sys.argv[1])
FILE = Path(sys.argv[2])
URL = sys.argv[3]
FUNCTION = types.SimpleNamespace(id="engrams", content=FILE.read_text("utf-8"))


class Functions:
    """The table of functions, with one active global filter and its saved valves."""

    async def get_function_by_id(self, _id: str) -> Any:
        return FUNCTION

    async def get_functions_by_ids(self, _ids: list[str]) -> Any:
        return [FUNCTION]

    async def get_active_filter_ids(self) -> Any:
        return [("engrams", True)]

    async def get_function_valves_by_ids(self, _ids: list[str]) -> Any:
        return {"engrams": {"url": URL, "tokens": 500}}

    async def get_user_valves_by_id_and_user_id(self, _id: str, _user: str) -> Any:
        return {"enabled": True}


def stand_in(name: str, **members: Any) -> None:
    module = types.ModuleType(name)
    module.__path__ = [str(SOURCES / name.replace(".", "/"))]
    vars(module).update(members)
    sys.modules[name] = module


def prepare() -> None:
    """Let the two files import what they need of the rest."""
    stand_in("open_webui")
    stand_in("open_webui.utils")
    switches = dict.fromkeys(
        ("ENABLE_FUNCTIONS", "ENABLE_TOOLS", "ENABLE_PIP_INSTALL_FRONTMATTER_REQUIREMENTS"), True
    )
    stand_in(
        "open_webui.env",
        OFFLINE_MODE=False,
        PIP_OPTIONS=[],
        PIP_PACKAGE_INDEX_OPTIONS=[],
        **switches,
    )
    stand_in("open_webui.models")
    stand_in("open_webui.models.functions", FunctionModel=object, Functions=Functions())
    stand_in("open_webui.models.tools", Tools=None)


async def chat(
    filters: Any, chat_id: str, question: str, answer: str, **more: Any
) -> tuple[str, list[str]]:
    """One turn as the middleware runs it: inlet, the model, outlet."""
    shown: list[str] = []

    async def emit(event: dict[str, Any]) -> None:
        shown.append(event["data"]["description"])

    request = types.SimpleNamespace(
        app=types.SimpleNamespace(state=types.SimpleNamespace()), state=types.SimpleNamespace()
    )
    metadata = {"chat_id": chat_id, "message_id": "m1", "session_id": "s"}
    user = {"id": "ann-1", "name": "Ann", "role": "user"}
    extra = {
        "__event_emitter__": emit,
        "__user__": user,
        "__metadata__": metadata,
        "__request__": request,
        "__model__": {},
    }
    functions = await filters.get_filter_functions(request, {"info": {"meta": {"filterIds": []}}})
    sent = {"model": "m", "messages": [{"role": "user", "content": question}]}
    body, _ = await filters.process_filter_functions(
        request, None, functions, "inlet", copy.deepcopy(sent), copy.deepcopy(extra)
    )
    after = {
        **sent,
        "chat_id": chat_id,
        "messages": [*sent["messages"], {"role": "assistant", "content": answer, **more}],
    }
    context = filters.get_filter_context(request)
    await filters.process_filter_functions(
        request, context, functions, "outlet", after, copy.deepcopy(extra)
    )
    return body["messages"][-1]["content"], shown


async def main() -> None:
    prepare()
    from open_webui.utils import filter as filters  # type: ignore[import-not-found]
    from open_webui.utils import plugin

    loaded, kind, head, _ = await plugin.load_function_module_by_id("engrams", FUNCTION.content)
    assert (kind, head["title"], "requirements" in head) == ("filter", "engrams", False), head
    schema = plugin.resolve_valves_schema_options(loaded.Valves, loaded.Valves.model_json_schema())
    assert {"url", "key", "tokens", "store", "priority"} <= set(schema["properties"])
    first, shown = await chat(filters, "c1", "I am allergic to nuts.", "Noted, no nuts.")
    assert first == "I am allergic to nuts." and shown == [], shown
    await chat(
        filters,
        "c2",
        "Hello there, old friend.",
        "model 'qwen3' not found",
        error={"content": "model 'qwen3' not found"},
    )
    later, shown = await chat(filters, "c3", "What am I allergic to?", "Nuts.")
    assert "allergic to nuts" in later and later.endswith("What am I allergic to?"), later
    assert shown and shown[0].startswith("Recalled"), shown


asyncio.run(main())
