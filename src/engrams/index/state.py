"""State of an owner's index, and its form as a file.

``OwnerIndexState.dump`` collects all arrays and names as one segment, ``restore`` maps them again.
"""

from __future__ import annotations

import json
from array import array
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from engrams.index.ann import AnnIndex
from engrams.index.columns import CENTRE, VECTORS, IndexColumns
from engrams.index.nearest import NearestVectorSearcher, PackedCodes
from engrams.index.number_maps import RowSlotMap, SessionNumberMap, StringCodebook
from engrams.index.postings import InvertedIndex, PostingSegment
from engrams.index.segment_file import SegmentContent, SegmentFileError

_POSTINGS = ("terms", "starts", "slots", "counts")
_FORM = 6
"""Number of the meaning of the arrays: to be raised when any of them means something else."""
_LARGEST_BYTE = np.iinfo(np.uint8).max
_SPARE = 4
"""One part in this many of the rows is room for later ones."""
_LEAST_SPARE = 1024


@dataclass(slots=True)
class OwnerIndexState:
    """Columns, postings, codes and names of an index."""

    columns: IndexColumns
    postings: InvertedIndex = field(default_factory=InvertedIndex)
    row_slots: RowSlotMap = field(default_factory=RowSlotMap)
    nearest: NearestVectorSearcher = field(default_factory=NearestVectorSearcher)
    scopes: StringCodebook = field(default_factory=StringCodebook)
    """Keys of scopes."""
    kinds: StringCodebook = field(default_factory=StringCodebook)
    voices: StringCodebook = field(default_factory=StringCodebook)
    """Speakers with their roles."""
    sessions: SessionNumberMap = field(default_factory=SessionNumberMap)
    last_slots: array[int] = field(default_factory=lambda: array("i"))
    """Last slot of each session by its number, or -1."""
    last_change: int = 0
    """Number of the last change that the index knows."""
    has_triggers: bool = False
    """Some record has had a trigger."""

    @property
    def bytes(self) -> int:
        """Approximate size, mapped parts included."""
        return self.columns.bytes + self.postings.size + self.row_slots.bytes

    def dump(self) -> SegmentContent:
        """Collect all arrays as one segment; postings are merged meanwhile."""
        self.nearest.unpack(self.columns)
        self.nearest.extend(self.columns, tail=0)
        columns = self.columns.dump()
        arrays: dict[str, npt.NDArray[Any]] = dict(columns)
        arrays["row numbers"], arrays["row slots"] = self.row_slots.dump()
        postings = self.postings.merge()
        if postings is not None:
            arrays |= {name: getattr(postings, name) for name in _POSTINGS}
            if not len(postings.counts) or postings.counts.max() <= _LARGEST_BYTE:
                arrays["counts"] = postings.counts.astype(np.uint8, copy=False)
        if self.nearest.codes is not None:
            arrays["codes"] = np.frombuffer(self.nearest.codes.encode(), np.uint8)
        arrays["last"] = np.array(self.last_slots, np.int32)
        arrays["session hashes"], arrays["session numbers"] = self.sessions.dump()
        names = [self.scopes.names, self.kinds.names, self.voices.names]
        arrays["names"] = np.frombuffer(json.dumps(names, ensure_ascii=False).encode(), np.uint8)
        growing = columns.keys() - {CENTRE}
        if not self.columns.dimension:
            growing -= {VECTORS}
        notes = {
            "form": _FORM,
            "size": self.columns.size,
            "last_change": self.last_change,
            "has_triggers": self.has_triggers,
        }
        spare = self.columns.size // _SPARE + _LEAST_SPARE
        return SegmentContent(notes, arrays, frozenset(growing), spare)

    @classmethod
    def from_segment(cls, segment: SegmentContent) -> OwnerIndexState:
        """Rebuild the state from a segment that ``dump`` made.

        SegmentFileError: it is of another version, or its vectors cannot be searched without
        turbovec.
        """
        arrays = segment.arrays
        notes = segment.notes
        if notes["form"] != _FORM:
            raise SegmentFileError("another form of index")
        if "codes" in arrays and not AnnIndex.is_available():
            raise SegmentFileError("turbovec is missing")
        postings = []
        if "terms" in arrays:
            postings.append(PostingSegment(*(arrays[name] for name in _POSTINGS)))
        packed = PackedCodes(arrays["codes"], notes["size"]) if "codes" in arrays else None
        scopes, kinds, voices = json.loads(arrays["names"].tobytes())
        return cls(
            columns=IndexColumns(arrays[VECTORS].shape[1], notes["size"], arrays),
            postings=InvertedIndex(postings),
            row_slots=RowSlotMap(arrays["row numbers"], arrays["row slots"]),
            nearest=NearestVectorSearcher(packed=packed),
            scopes=StringCodebook(scopes),
            kinds=StringCodebook(kinds),
            voices=StringCodebook(voices),
            sessions=SessionNumberMap(arrays["session hashes"], arrays["session numbers"]),
            last_slots=array("i", arrays["last"].tobytes()),
            last_change=notes["last_change"],
            has_triggers=notes["has_triggers"],
        )
