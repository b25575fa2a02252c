"""The one door to memory: ``MemoryEngine``, its components, and the same for asyncio."""

from engrams.engine.engine import MemoryEngine

__all__ = ["MemoryEngine"]
