"""Episodes: the accounts of a session, one for each scope, as records."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from engrams.core import LAYER_OF, Edge, EdgeType, Kind, Provenance, Record, Status, Vector
from engrams.core.ids import derive_id_at_time_of
from engrams.errors import BudgetError, ModelError
from engrams.extract.policy import only_gives_up_safety, speaks_of_danger
from engrams.ports import ChatModel, Embedder, NewRecord
from engrams.read.corrected_words import mask_corrected
from engrams.session.ending.account_by_model import tell_by_model
from engrams.session.ending.account_by_rules import find_substantive, tell_by_rules
from engrams.session.ending.session_account import SessionAccount
from engrams.session.ending.session_end import ScopeAccount, SessionEnd
from engrams.write.write_deps import WriteDeps

_log = logging.getLogger(__name__)


def add_accounts(end: SessionEnd, deps: WriteDeps) -> None:
    """Tell what was said in each scope, where that is worth an account."""
    section = deps.settings.sessions
    for scope in dict.fromkeys(turn.scope for turn in end.turns):
        turns = [
            mask_corrected(turn)
            for turn in end.turns
            if turn.scope == scope
            and turn.status is Status.ACTIVE
            and turn not in end.crisis_turns
            and not only_gives_up_safety(turn.text)
            and not speaks_of_danger(turn.text)
        ]
        if len(find_substantive(turns)) < section.min_turns:
            continue
        account, problem = tell_session(turns, deps.chat, section.episode_chars)
        if problem:
            _log.warning("the account of a session is by rules: %s", problem)
        if account is not None and account.summary:
            end.accounts.append(ScopeAccount(scope, tuple(turns), account))


def tell_session(
    turns: Sequence[Record], chat: ChatModel | None, limit: int
) -> tuple[SessionAccount | None, str]:
    """Tell a session by the model; rules replace a failed one.

    Returns the account (None: nothing worth one) and the model's error message (empty: none).
    """
    if chat is None:
        return tell_by_rules(turns, limit), ""
    try:
        return tell_by_model(turns, chat, limit), ""
    except (ModelError, BudgetError) as problem:
        return tell_by_rules(turns, limit), problem.message


def build_episodes(
    end: SessionEnd, embedder: Embedder
) -> tuple[tuple[NewRecord, ...], tuple[Edge, ...]]:
    """Build the episodes of all accounts, with links to what they tell of."""
    puts = []
    edges = []
    for scope_account in end.accounts:
        episode = _build_episode(scope_account, end)
        end.episode_ids.append(episode.id)
        puts.append(NewRecord(episode, vector=_embed_episode(episode, embedder)))
        edges += [
            Edge(end.owner, episode.id, source_id, EdgeType.DERIVED_FROM)
            for source_id in {quote.source for quote in episode.evidence}
        ]
    return tuple(puts), tuple(edges)


def _build_episode(scope_account: ScopeAccount, end: SessionEnd) -> Record:
    """Build the episode record; its id is stable for a session part, so a retry makes one."""
    first = scope_account.turns[0]
    last = scope_account.turns[-1]
    account = scope_account.account
    name = f"episode\x1f{scope_account.scope.key}\x1f{end.row.id}\x1f{first.id}"
    crisis = str(end.row.data.get("crisis", "none"))
    return Record(
        id=derive_id_at_time_of(last.id, name),
        scope=scope_account.scope,
        kind=Kind.EPISODE,
        text=account.summary,
        recorded_at=last.recorded_at,
        layer=LAYER_OF[Kind.EPISODE],
        session=end.row.id,
        valid_from=first.recorded_at,
        trust=min(turn.trust for turn in scope_account.turns),
        tags=account.themes,
        evidence=account.evidence,
        provenance=Provenance("session", account.extractor, account.prompt, "session end"),
        meta={"arc": account.to_metadata(scope_account.turns, crisis)},
    )


def _embed_episode(record: Record, embedder: Embedder) -> Vector | None:
    """Embed an account; None on failure, which a job retries."""
    card = embedder.card
    if not card.dimension:
        return None
    try:
        row = embedder.embed([record.search_text], "document")[0]
    except ModelError as problem:
        _log.warning("the account of a session has no vector yet: %s", problem.message)
        return None
    if not row.any():
        return None
    return Vector(record.id, card.id, card.dimension, row.astype("<f4").tobytes())
