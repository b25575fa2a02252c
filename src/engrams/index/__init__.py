"""In-memory search index of one owner: numpy columns, vectors and postings.

Any backend that can hand out rows (``IndexRow``) can use it; the database stays the truth and the
index is rebuilt from it. Enter at ``OwnerSearchIndex``: ``updates`` takes rows in, ``pool`` finds
candidates.
"""

from engrams.index.bm25 import QueryWords
from engrams.index.columns import IndexRow
from engrams.index.owner_index import OwnerSearchIndex

__all__ = ["IndexRow", "OwnerSearchIndex", "QueryWords"]
