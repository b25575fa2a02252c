"""Public names for an importer of one's own: ``from engrams.formats import ParsedTurn``.

``MemoryEngine.load`` takes any iterable of these as its source.
"""

from engrams.transfer.formats import ExportFormat, Format, ParsedTurn, UnreadablePiece

__all__ = ["ExportFormat", "Format", "ParsedTurn", "UnreadablePiece"]
