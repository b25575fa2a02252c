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

from engrams.adapters.agent_memory import AgentMemory
from engrams.adapters.chat_client import MemoryClient
from engrams.errors import ExtraError
from engrams.installation import install_hint

if TYPE_CHECKING:
    from engrams.adapters.agent_framework import AgentFrameworkContextProvider
    from engrams.adapters.anthropic import AnthropicMemoryTool, AsyncAnthropicMemoryTool
    from engrams.adapters.claude import ClaudeSessionStore
    from engrams.adapters.crewai import CrewAIStorage
    from engrams.adapters.google_adk import GoogleADKMemoryService
    from engrams.adapters.langchain import LangChainRetriever, LangChainStore
    from engrams.adapters.langgraph import AsyncLangGraphStore, LangGraphStore
    from engrams.adapters.llama_index import LlamaIndexMemoryBlock
    from engrams.adapters.openai_agents import OpenAIAgentsSession
    from engrams.adapters.pydantic_ai import (
        PydanticAIConversationStore,
        PydanticAIMemory,
        PydanticAIToolset,
    )
    from engrams.adapters.strands import StrandsMemoryStore

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
    "OpenAIAgentsSession": "openai_agents",
    "AgentFrameworkContextProvider": "agent_framework",
    "CrewAIStorage": "crewai",
    "GoogleADKMemoryService": "google_adk",
    "LangChainRetriever": "langchain",
    "LangChainStore": "langchain",
    "LlamaIndexMemoryBlock": "llama_index",
    "PydanticAIConversationStore": "pydantic_ai",
    "PydanticAIMemory": "pydantic_ai",
    "PydanticAIToolset": "pydantic_ai",
    "StrandsMemoryStore": "strands",
}
"""Module of each adapter; the extra that installs its framework has the module's name."""


def __dir__() -> list[str]:
    """List every adapter, loaded or not."""
    return sorted({*globals(), *_MODULES})


if not TYPE_CHECKING:  # else a type checker takes every name for one of this module's

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
                f"{name} needs {problem.name}, which is not installed.",
                hint=install_hint(module.replace("_", "-")),
            ) from None
