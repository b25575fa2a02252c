"""The in-memory search index of one owner: columns, vectors and postings in numpy, caught up from the rows of a store.

Any backend that can hand out rows (``Row``) can use it; the database stays the truth and the index is rebuilt from it.
"""

from engrams.store.index.owner import OwnerIndex as OwnerIndex
from engrams.store.index.row import Row as Row
