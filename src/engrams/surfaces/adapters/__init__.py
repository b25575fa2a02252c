"""Memory for agents and programs: plain callables and a chat client."""

from engrams.surfaces.adapters.agent import AgentMemory as AgentMemory
from engrams.surfaces.adapters.client import MemoryClient as MemoryClient
