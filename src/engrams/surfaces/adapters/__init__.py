"""Memory for agents, programs and agent frameworks.

An adapter is one module named after its framework. It holds the classes that the framework asks
for, named framework + the framework's noun (``LangGraphStore``), each made from an engine and a
scope and thin over the engine's public methods. The framework is imported at the top of that
module, which is loaded when one of its names below is first used. What is deleted through an
adapter is purged.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from engrams.errors import ExtraError, install_hint
from engrams.surfaces.adapters.agentmemory import AgentMemory
from engrams.surfaces.adapters.chatclient import MemoryClient

if TYPE_CHECKING:
    from engrams.surfaces.adapters.agentframework import AgentFrameworkContextProvider
    from engrams.surfaces.adapters.anthropic import AnthropicMemoryTool, AsyncAnthropicMemoryTool
    from engrams.surfaces.adapters.claude import ClaudeSessionStore
    from engrams.surfaces.adapters.crewai import CrewAIStorage
    from engrams.surfaces.adapters.googleadk import GoogleADKMemoryService
    from engrams.surfaces.adapters.langchain import LangChainRetriever, LangChainStore
    from engrams.surfaces.adapters.langgraph import AsyncLangGraphStore, LangGraphStore
    from engrams.surfaces.adapters.llamaindex import LlamaIndexMemoryBlock
    from engrams.surfaces.adapters.openaiagents import OpenAIAgentsSession
    from engrams.surfaces.adapters.pydanticai import (
        PydanticAIConversationStore,
        PydanticAIMemory,
        PydanticAIToolset,
    )
    from engrams.surfaces.adapters.strands import StrandsMemoryStore

__all__ = [
    "AgentFrameworkContextProvider",
    "AgentMemory",
    "AnthropicMemoryTool",
    "AsyncAnthropicMemoryTool",
    "AsyncLangGraphStore",
    "ClaudeSessionStore",
    "CrewAIStorage",
    "GoogleADKMemoryService",
    "LangChainRetriever",
    "LangChainStore",
    "LangGraphStore",
    "LlamaIndexMemoryBlock",
    "MemoryClient",
    "OpenAIAgentsSession",
    "PydanticAIConversationStore",
    "PydanticAIMemory",
    "PydanticAIToolset",
    "StrandsMemoryStore",
]

_MODULES = {
    "AnthropicMemoryTool": "anthropic",
    "AsyncAnthropicMemoryTool": "anthropic",
    "AsyncLangGraphStore": "langgraph",
    "ClaudeSessionStore": "claude",
    "LangGraphStore": "langgraph",
    "OpenAIAgentsSession": "openaiagents",
    "AgentFrameworkContextProvider": "agentframework",
    "CrewAIStorage": "crewai",
    "GoogleADKMemoryService": "googleadk",
    "LangChainRetriever": "langchain",
    "LangChainStore": "langchain",
    "LlamaIndexMemoryBlock": "llamaindex",
    "PydanticAIConversationStore": "pydanticai",
    "PydanticAIMemory": "pydanticai",
    "PydanticAIToolset": "pydanticai",
    "StrandsMemoryStore": "strands",
}
"""Module of each adapter; the extra that installs its framework has the module's name."""


def __dir__() -> list[str]:
    """List every adapter, loaded or not."""
    return sorted({*globals(), *_MODULES})


def __getattr__(name: str) -> Any:
    """Load an adapter when first used. ExtraError: its framework is not installed."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _MODULES[name]
    try:
        return getattr(import_module(f"{__name__}.{module}"), name)
    except ModuleNotFoundError as problem:
        if (problem.name or "").startswith("engrams"):
            raise
        raise ExtraError(
            f"{name} needs {problem.name}, which is not installed.", hint=install_hint(module)
        ) from None
