"""Searches and contexts of one engine, with what only its process knows of conversations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from engrams.core import (
    RULE_KINDS,
    Context,
    Kind,
    Record,
    Scope,
    SearchResult,
    Status,
    conversation,
)
from engrams.engine.dependencies import EngineDeps
from engrams.frozen_data import dataclass
from engrams.ports import PREFERENCES, RecordQuery, is_skill
from engrams.ports.hot_memories import HotMemories
from engrams.read import prompt_context
from engrams.read.arguments import check_count
from engrams.read.corrected_words import mask_corrected
from engrams.read.dependencies import ReadDeps
from engrams.read.render import RecallStyle
from engrams.read.request import ReadRequest, visible_scopes
from engrams.read.search import search
from engrams.upkeep.usage.usage_tracker import MemoryUsageTracker

if TYPE_CHECKING:
    from engrams.write.privacy_modes import IncognitoSessions
    from engrams.write.prompt_fingerprints import InjectedContextFingerprints
    from engrams.write.working_tier import WorkingTier

_LEAST_PREFIX = 100
"""Tokens below which the profile's share of a small budget does not fall, up to half of the budget:
the frame of a profile alone takes forty."""
_GARDEN_HITS = 20
"""Hits of a search that the garden's agent asks for."""


@dataclass(frozen=True, slots=True)
class ConversationState:
    """Facts about conversations that only this process knows."""

    privacy: IncognitoSessions
    injected: InjectedContextFingerprints
    """Fingerprints of memory that was put into prompts."""
    find_working_tier: Callable[[], WorkingTier | None]
    """Returns the working tier of this process; None: nothing was put into it yet."""


class MemoryReads:
    """Searches and contexts; their use is counted where the method says so."""

    def __init__(
        self,
        deps: EngineDeps,
        read_deps: ReadDeps,
        conversations: ConversationState,
        usage: MemoryUsageTracker,
    ) -> None:
        self._deps = deps
        self._read_deps = read_deps
        self._conversations = conversations
        self._usage = usage

    def search(self, request: ReadRequest) -> SearchResult:
        """Search, without counting use."""
        return search(self._with_conversation_state(request), self._read_deps)

    def search_without_links(self, query: str, scope: Scope, limit: int) -> SearchResult:
        """Search without following links, and count the use of the hits."""
        request = ReadRequest(query, scope, self._deps.clock(), limit, follows_links=False)
        result = self.search(request)
        self._usage.note_search(result, scope)
        return result

    def find_ids(self, owner: Scope, query: str) -> list[str]:
        """Search for the ids of memories, without skills and without counting use."""
        result = self.search(ReadRequest(query, owner, self._deps.clock(), _GARDEN_HITS))
        return [hit.record.id for hit in result.hits if not is_skill(hit.record.id)]

    def measure_nearness(self, text: str, owner: Scope) -> float:
        """Measure how near an owner's nearest memory comes to a text, without counting use."""
        return self.search(ReadRequest(text, owner, self._deps.clock(), 1)).nearness

    def build_context(
        self, request: ReadRequest, tokens: int | None, *, follows_switch: bool = True
    ) -> Context:
        """Render one owner's memory for a prompt of ``tokens`` at most, without counting use.

        None: as many tokens as the settings say. ``follows_switch``: nothing but rules where the owner
        turned recall off.
        """
        request = self._with_conversation_state(request)
        total = 0 if request.is_silent else self.find_budget(tokens)
        budget = prompt_context.ContextTokenBudget(
            total, self._count_prefix_tokens(request, total), self._deps.counter
        )
        if follows_switch:
            request = self._restrict_to_rules(request)
        return prompt_context.build_context(request, self._read_deps, budget)

    def find_budget(self, tokens: int | None) -> int:
        """Return the tokens of a context; None: as the settings say."""
        if tokens is None:
            return self._deps.settings.read.context_tokens
        return check_count(tokens, "tokens")

    def note_injected(self, scope: Scope, context: Context) -> None:
        """Fingerprint what goes into the prompts of a scope, so that its echo is not extracted."""
        self._conversations.injected.add_context(scope, context)

    def _count_prefix_tokens(self, request: ReadRequest, total: int) -> int:
        """Return the most tokens of the profile in a budget of ``total``."""
        settings = self._deps.settings.read
        share = settings.prefix_share if request.text.strip() else 1.0
        if not share:
            return 0
        tokens = max(int(share * total), min(_LEAST_PREFIX, total // 2))
        return min(settings.prefix_tokens, tokens)

    def drop_changed(self, context: Context, query: str, scope: Scope) -> Context:
        """Leave out of an earlier context what was edited or forgotten since."""
        ids = [*(hit.record.id for hit in context.hits), *context.standing]
        if not ids:
            return context
        owners = dict.fromkeys([scope.owner, *(hit.record.scope.owner for hit in context.hits)])
        records = {
            record.id: record for owner in owners for record in self._deps.store.get(owner, ids)
        }
        style = RecallStyle(self._deps.settings.read.line_format, query)
        return prompt_context.drop_changed(context, records, style, self._deps.counter)

    def find_tail(self, scope: Scope) -> tuple[Record, ...]:
        """Return the last turns of a conversation, which every context shows."""
        working = self._conversations.find_working_tier()
        return () if working is None else tuple(map(mask_corrected, working.tail(scope)))

    def find_summary(self, scope: Scope, session: str) -> str:
        """Return the rolling summary of a conversation; empty without one."""
        if not self._deps.settings.summary.enabled:
            return ""
        from engrams.session.summaries.summary_records import find_summary

        record = find_summary(self._deps.store, *conversation(scope, session))
        return record.text if record else ""

    def is_begun(self, scope: Scope, session: str, text: str) -> bool:
        """Return True where memory holds more of a session than this text: another process began it."""
        query = RecordQuery(
            visible_scopes(scope), (Kind.TURN,), tuple(Status), session=session, limit=2
        )
        turns = self._deps.store.find(query).records
        return any(turn.text.strip() != text.strip() for turn in turns)

    def is_silent(self, scope: Scope, session: str) -> bool:
        """Return True where a conversation must read and write nothing."""
        return self._conversations.privacy.is_silent(scope, session)

    def _with_conversation_state(self, request: ReadRequest) -> ReadRequest:
        """Add to a request what only this process knows: private sessions and hot memories."""
        settings = self._deps.settings
        is_silent = not settings.enabled or self.is_silent(request.scope, request.session)
        hot = None
        if settings.tiers.enabled:
            working = self._conversations.find_working_tier()
            if working is None:
                hot = HotMemories({}, settings.tiers.hot_cosine)
            else:
                hot = working.copy_hot(request.scope)
        return replace(request, is_silent=is_silent, hot=hot)

    def _restrict_to_rules(self, request: ReadRequest) -> ReadRequest:
        """Limit a read to rules where its owner turned recall off."""
        if self.recalls_facts(request.scope):
            return request
        return replace(request, kinds=RULE_KINDS, catch_up=False)

    def recalls_facts(self, scope: Scope) -> bool:
        """Return False where the owner turned recall off: only rules are recalled."""
        from engrams.session import owner_settings

        state = self._deps.store.load_state(scope.owner, PREFERENCES)
        return owner_settings.is_recall_on(state, self._deps.settings)
