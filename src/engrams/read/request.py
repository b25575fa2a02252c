"""Request of one read: a question, whose memories it may see, and which of them it wants."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from engrams.core import Kind, Record, Scope
from engrams.errors import InputError
from engrams.frozen_data import dataclass
from engrams.ports import AsOf, ScopeReach, Where
from engrams.ports.hot_memories import HotMemories
from engrams.read.arguments import check_count


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """One search, or the search of one context.

    InputError: the query is no text, or the limit no count.
    """

    text: str
    scope: Scope
    now: datetime
    limit: int
    """Most hits; 0 finds nothing."""
    conversation: str = ""
    """What was said before, newest first: it completes a text that says little by itself."""
    as_of: AsOf | None = None
    kinds: tuple[Kind, ...] = ()
    """Kinds to find; empty: all that ``read.exclude_kinds`` does not name."""
    where: Where | None = None
    history: bool = False
    """Find superseded and archived records, too."""
    already_shown: frozenset[str] = frozenset()
    """Ids of records that the reader has seen, which are left out."""
    already_given: frozenset[str] = frozenset()
    """Ids of records that the reader has seen, which are left out of a context at the end: what is
    far below them does not come up in their place.
    """
    omits_profile: bool = False
    """True for a reader who has the profile: a context has none."""
    session: str = ""
    """Conversation in which it is asked; empty: in none."""
    hides_own: bool = True
    """Leave out the records of ``session`` itself."""
    adds_episodes: bool = False
    """True for a context: ``read.episodes`` episodes do not count to the limit."""
    said_before: frozenset[str] = frozenset()
    """Texts of the conversation so far: they are in the prompt anyway, and are left out."""
    last_turns: tuple[Record, ...] = ()
    """Turns, oldest first, that a context always shows."""
    summary: str = ""
    """Summary of the conversation, which precedes the hits of a context."""
    catch_up: bool = False
    """Add the latest episode to a context."""
    topic_changed: bool = False
    """The conversation turned to something else, so that a reranker judges anew."""
    cut_ratio: float | None = None
    """Share of the best score, 0..1, below which hits are cut; None: ``read.cut_ratio``."""
    least_probability: float = 0.0
    """Probability, 0..1, that a hit of a context helps at least; hits that are not judged stay."""
    follows_links: bool = True
    """False: links of hits bring nothing up, as ``graph.depth`` 0."""
    tolerates_spelling: bool = False
    """True for a search: its unfinished or misspelled words stand for similar ones, if they are few.
    A prompt is answered for the words that it has.
    """
    checkout: Path | None = None
    """Folder of the code with which hits are compared; None: they are not."""
    is_silent: bool = False
    """Memory is off for this conversation, and nothing is found."""
    hot: HotMemories | None = None
    """Memories that were recalled lately; None: that tier is off."""

    def __post_init__(self) -> None:
        """Check the query and the limit, which callers pass through as they are."""
        if not isinstance(self.text, str):
            raise InputError(
                f"A query must be text, not {type(self.text).__name__}.",
                hint="Give the question as one str.",
            )
        check_count(self.limit, "limit")

    @property
    def has_question(self) -> bool:
        """True if there is something to search for."""
        return bool(self.text.strip())

    @property
    def reach(self) -> ScopeReach:
        """Scopes that the request can see."""
        return visible_scopes(self.scope)


def visible_scopes(scope: Scope) -> ScopeReach:
    """Find the scopes that a read sees: an owner's whole tree, else the scope's chain."""
    if scope.is_owner:
        return ScopeReach(scope.owner, (scope,), tree=True)
    return ScopeReach(scope.owner, scope.chain())


def sees_scope(reader: Scope, scope: Scope) -> bool:
    """True if a read of ``reader`` sees what stands in ``scope``."""
    return reader.is_owner or scope in reader.chain()
