"""Everything that an owner's index holds, and its form in a file."""

from __future__ import annotations

import json
from array import array
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from engrams.store.index.annsearch import AnnIndex, NearestVectorSearcher
from engrams.store.index.bm25 import InvertedIndex, PostingSegment
from engrams.store.index.indexcolumns import VECTORS, IndexColumns, RowSlotMap, StringCodebook
from engrams.store.index.segmentfile import SegmentContent, SegmentFileError

_POSTINGS = ("terms", "starts", "slots", "counts")
_FORM = 1
"""Number of the meaning of the arrays: to be raised when any of them means something else."""
_SPARE = 4
"""One part in this many of the rows is room for later ones."""


@dataclass(slots=True)
class OwnerIndexState:
    """Columns, postings, codes and names of an index.

    ``sessions``: number of each session by scope and name; ``last``: its last slot, or -1, by number. ``last_change``: number of the last
    change seen."""

    columns: IndexColumns
    postings: InvertedIndex = field(default_factory=InvertedIndex)
    row_slots: RowSlotMap = field(default_factory=RowSlotMap)
    nearest: NearestVectorSearcher = field(default_factory=NearestVectorSearcher)
    scopes: StringCodebook = field(default_factory=StringCodebook)
    kinds: StringCodebook = field(default_factory=StringCodebook)
    voices: StringCodebook = field(default_factory=StringCodebook)
    sessions: dict[tuple[int, str], int] = field(default_factory=dict)
    last: array[int] = field(default_factory=lambda: array("i"))
    last_change: int = 0

    @property
    def bytes(self) -> int:
        """Approximate size, mapped parts included."""
        return self.columns.bytes + self.postings.size + self.row_slots.bytes

    def dump(self) -> SegmentContent:
        """Collect all arrays as one segment; postings are merged meanwhile."""
        self.nearest.extend(self.columns, tail=0)
        columns = self.columns.dump()
        arrays: dict[str, npt.NDArray[Any]] = dict(columns)
        arrays["row numbers"], arrays["row slots"] = self.row_slots.dump()
        postings = self.postings.merge()
        if postings is not None:
            arrays |= {name: getattr(postings, name) for name in _POSTINGS}
        if self.nearest.codes is not None:
            arrays["codes"] = np.frombuffer(self.nearest.codes.encode(), np.uint8)
        arrays["last"] = np.array(self.last, np.int32)
        names = [self.scopes.names, self.kinds.names, self.voices.names, [[*key, code] for key, code in self.sessions.items()]]
        arrays["names"] = np.frombuffer(json.dumps(names, ensure_ascii=False).encode(), np.uint8)
        size = self.columns.size
        growing = frozenset(columns) - {"centre"} - (frozenset() if self.columns.dimension else {VECTORS})
        return SegmentContent({"form": _FORM, "size": size, "last_change": self.last_change}, arrays, growing, size // _SPARE + 1024)

    @classmethod
    def restore(cls, segment: SegmentContent) -> OwnerIndexState:
        """Rebuild the state from a segment that ``dump`` made.

        SegmentFileError: it is of another version, or its vectors cannot be searched without turbovec."""
        arrays, notes = segment.arrays, segment.notes
        if notes["form"] != _FORM:
            raise SegmentFileError("another form of index")
        codes = AnnIndex.decode(arrays["codes"].tobytes()) if "codes" in arrays else None
        if codes is None and "codes" in arrays:
            raise SegmentFileError("turbovec is missing")
        postings = [PostingSegment(*(arrays[name] for name in _POSTINGS))] if "terms" in arrays else []
        scopes, kinds, voices, sessions = json.loads(arrays["names"].tobytes())
        return cls(
            columns=IndexColumns(arrays[VECTORS].shape[1], notes["size"], arrays),
            postings=InvertedIndex(postings),
            row_slots=RowSlotMap(arrays["row numbers"], arrays["row slots"]),
            nearest=NearestVectorSearcher(codes),
            scopes=StringCodebook(scopes),
            kinds=StringCodebook(kinds),
            voices=StringCodebook(voices),
            sessions={(scope, name): code for scope, name, code in sessions},
            last=array("i", arrays["last"].tobytes()),
            last_change=notes["last_change"],
        )
