"""Whatever this process remembers between calls is bounded:
every cache is known here, with its bound.
"""

from __future__ import annotations

import ast
import gc
import types
from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import Context, Kind, Scope
from engrams.core.process_peers import ProcessPeers
from engrams.models.embed.query_cache import QueryCachingEmbedder
from engrams.models.rerank.listwise import ListwiseReranker, RelevanceJudgementRequest
from engrams.testing import HashEmbedder, SettableClock
from engrams.text.text_caches import registered_caches, text_cache
from engrams.write.prompt_fingerprints import InjectedContextFingerprints

SOURCE = Path(engrams.__file__).parent
START = datetime(2026, 3, 1, 9, tzinfo=UTC)

BOUNDS = {
    "api_keys.key_store._MAX_RECENT": 10_000,
    "api_keys.request_quota._MAX_ACCOUNTS": 10_000,
    "checkouts.code_anchor_reader._MAX_FINDINGS": 4_096,
    "checkouts.source_trees._MAX_LISTINGS": 16,
    "checkouts.source_trees._MAX_OUTLINES": 512,
    "logs.audit_files._MAX_IN_MEMORY": 1_000,
    "logs.audit_log._MAX_WAITING": 10_000,
    "models.rerank.listwise._SESSIONS": 1_000,
    "read.entities.entity_index._MOST": 50_000,
    "read.entities.entity_index._NETS": 16,
    "read.entities.entity_index._OWNERS": 8,
    "read.embedder_fit._MOST_OWNERS": 256,
    "read.profile_cache._MOST": 64,
    "session.delivery._MAX_CONVERSATIONS": 10_000,
    "session.open_questions._MAX_QUESTIONS": 50,
    "write.prompt_fingerprints._MAX_OF_OWNER": 2_000,
    "write.prompt_fingerprints._MAX_OWNERS": 1_000,
    "session.prefetch._MAX_RESULTS": 10_000,
    "write.session_rows.MAX_OPEN_SESSIONS": 10_000,
    "session.registry.MAX_OPEN_SESSIONS": 10_000,
    "session.recently_shown._MAX_CONVERSATIONS": 10_000,
    "write.working_tier._MAX_SCOPES": 1_000,
    "index.owner_index._VIEWS": 8,
    "store.sql.index_cache._MAX_WORDS": 4_096,
    "store.sql.census._MAX_OWNERS": 1_000,
    "store.sql.return_watch._MAX_OWNERS": 1_024,
    "store.sql.seal_sweep._MAX_OWNERS": 1_000,
    "store.sql.row_seals._MAX_TOLD": 1_000,
    "store.sqlite.committed_reads._MAX_CHANGES": 1_000,
    "store.sqlite.committed_reads._MAX_CONNECTIONS": 64,
    "store.sqlite.committed_reads._MAX_ENTRIES": 32_768,
    "store.sqlite.committed_reads._MAX_OWNERS": 64,
    "store.sqlite.record_cache._MAX_RECORDS": 8_192,
    "store.sqlite.dialect._MAX_NUMBERS": 200_000,
    "spaces.registry._MAX_RECENT": 10_000,
    "surfaces.http.rates._MAX_CALLERS": 10_000,
    "surfaces.http.observers.activity_chart._MAX_OWNERS": 1_000,
    "surfaces.proxy.memory_deadlines._MAX_WAITING": 64,
    "surfaces.proxy.chat_request._MAX_RESPONSES": 10_000,
    "upkeep.usage.usage_tracker._MAX_WAITING": 1_000,
    "upkeep.usage.usage_learning._MAX_OWNERS": 10_000,
    "vault.notes.vault_notes._MAX_PLANNED": 10_000,
    "vault.skills._MAX_SKILLS": 1_000,
    "write.change_detection.message_reader._MAX_CACHED": 1024,
}
"""Entries that each of them keeps at most, and no test may find more."""

REMEMBERED = {
    "models.embed.static._hash_signs": 4_096,
    "models.embed.static.WordPieceTokenizer._spell": 1 << 15,
    "models.tokens.factory._estimate_cached": 512,
    "read.cues.name_mentions._index_names": 64,
    "read.relevance.text_traits._find_groups": 1 << 14,
    "read.relevance.text_traits._read_piece": 1 << 14,
    "read.relevance.text_traits.describe_memory": 1 << 13,
    "read.relevance.text_traits.describe_prompt": 256,
    "write.prompt_fingerprints._fingerprint_line": 2_048,
    "read.cues.cue_scores._find_spans": 8_192,
    "text.name_order._cached_names_in_order": 512,
    "store.sql.row_conversion._decode_provenance": 1_024,
    "text.normalize._fold_cached": 1_024,
    "text.stems.stem_word": 1 << 16,
    "text.terms._terms_cached": 4_096,
    "text.times.finder._scan_cached": 2_048,
    "text.told_apart._find_members": 1 << 12,
    "text.introduced_values._list_replacements": 1 << 12,
    "text.said_again._list_lasting_terms": 1 << 12,
    "write.change_detection.distinct_things._find_thing": 1 << 12,
    "write.change_detection.cue_words._find_word": 1 << 14,
    "write.change_detection.features.read_clause": 1 << 13,
    "write.value_corrections.read_value_correction": 256,
    "extract.rules.hashed_judge._find_slot": 1 << 15,
    "extract.rules.clause_judge._tells_duration": 256,
    "extract.rules.voice_judge.find_doubted_sentences": 64,
    "extract.rules.loose_clauses._opens_near": 256,
    "extract.rules.loose_clauses._is_dated": 256,
    "write.change_detection.abandoned_things._list_abandoned": 1 << 12,
    "write.change_detection.ended_things._list_ended": 1 << 12,
    "write.change_detection.explicit_endings.tells_end": 1 << 12,
    "write.change_detection.kept_statements._list_words": 1 << 12,
    "write.change_detection.kept_statements._read_parts": 1 << 12,
    "write.change_detection.opposite_statements.may_contradict": 1 << 12,
    "write.change_detection.opposite_statements._normalise": 1 << 12,
    "write.change_detection.opposite_statements._read_statement": 1 << 12,
    "write.change_detection.identifiers._find_code": 1 << 12,
    "write.change_detection.change_topics._place_words": 1 << 12,
    "write.change_detection.replacement_evidence.read_changed_things": 1 << 12,
    "write.change_detection.replacement_evidence._read_names": 1 << 12,
    "write.change_detection.replacement_evidence._read_names_and_numbers": 1 << 12,
    "write.change_detection.replacement_evidence._tells_replacement": 1 << 12,
    "write.change_detection.replacement_evidence._write_digits": 1 << 12,
    "write.change_detection.replacement_evidence.is_long": 1 << 12,
    "text.clause_kinds._read_told": 1 << 13,
    "text.clause_kinds.may_end": 1 << 13,
    "text.clause_kinds.may_tell_change": 1 << 13,
    "text.clause_split.split_clauses": 1 << 12,
    "text.foreign_parts._find_parts": 256,
    "extract.rules.sentence_segmenter._split": 64,
    "extract.rules.clause_times._read_text": 64,
    "extract.rules.clause_times._read_language": 64,
    "text.terms._to_term": 1 << 16,
    "text.terms._find_other_stems": 1 << 16,
    "extract.statement_reader._extract_cached": 1_024,
    "text.comparison.language_tables.detect_language": 8_192,
    "text.comparison.statement_words.holds_phrase": 4_096,
    "text.comparison.statement_words.read_words": 4_096,
    "write.reconcile_rules._hash_text": 16_384,
    "write.reconcile_rules._tokens": 16_384,
    "write.reconcile_rules.object_terms": 16_384,
    "extract.predicate_slots.canonical_predicate": 4_096,
    "read.later_values._read_change": 4_096,
    "read.diversity._read_long": 256,
    "write.answer_values._read_value": 512,
    "write.answer_values.list_topic_words": 512,
    "extract.command_parser._parse_short": 64,
    "extract.secrets._scan_cached": 1_024,
    "write.rule_corrections._read_topic": 512,
    "read.later_values._read_compared": 4_096,
    "read.later_values._read_subjects": 4_096,
    "read.later_values._read_values": 4_096,
}
"""What is worked out of texts: how many of each, and a purge leaves none."""

NAMES = {
    "encryption.home_keys._name_header": 256,
    "encryption.home_lock._name_lock": 256,
    "encryption.home_lock._name_lock_of": 256,
    "store.postgres.sql_translation.translate": 2_000,
    "store.sqlite.rescue.wal_reader._weigh_steps": 8,
    "core.scopes._parse_key": 4_096,
    "write.ignored_files._compile_rule": 4_096,
}
"""What is worked out of what is no memory's text: keys of scopes, rules for files."""

CLOSED = {
    "text.told_apart._list_general",
    "text.told_apart._list_general_terms",
    "text.told_apart._load_kinds",
    "installation._find_source", "models.embed.cosine_scales.load_scale", "index.segment_file._weights",
    "store.sqlite.record_cache._select_marked", "store.sqlite.schema_setup.blank_image", "store.sqlite.schema_setup.expected_columns",
    "surfaces.mcp.profile._describe_tool", "surfaces.mcp.scoped_engine._load_adapter",
    "models.embed.static.load_table", "models.embed.static.share_embedder", "write.change_detection.message_reader.share_reader",
    "write.change_detection.cue_words._load_table",
    "text.introduced_values._compile_forms",
    "text.introduced_values._list_idle_terms",
    "write.change_detection.ended_things._compile_forms",
    "write.change_detection.ended_things._compile_holders",
    "write.change_detection.ended_things._compile_signs",
    "write.change_detection.kept_statements._list_idle",
    "write.correction_announcements._compile_announcements",
    "write.change_detection.replacement_evidence._map_parts_of_day",
    "write.change_detection.replacement_evidence.list_general_words",
    "write.change_detection.replacement_evidence._list_weak_neighbours",
    "write.change_detection.replacement_evidence._list_common_units",
    "write.change_detection.replacement_evidence._list_measures",
    "write.change_detection.replacement_evidence._map_number_words",
    "write.change_detection.abandoned_things._compile_forms", "write.change_detection.abandoned_things._load_uses",
    "write.change_detection.replacement_evidence.list_time_words", "write.change_detection.boosted_trees.load_model",
    "write.change_detection.pair_judge._load_judge",
    "write.change_detection.opposite_statements._load_days", "write.change_detection.opposite_statements._load_rows",
    "write.change_detection.opposite_statements._load_table",
    "models.http_client._load_certificates", "prompts.load",
    "read.relevance.model.load_model", "read.relevance.text_traits._load_groups",
    "frozen_data._make_copier",
    "settings.project_name._load_statx", "settings.catalogue.names", "settings.catalogue.secret_names", "settings.renamed.renamed_settings",
    "extract.rules.hashed_judge.load_judge",
    "extract.list_choice._load_words", "extract.machine_reports._load_system_messages",
    "extract.owner_statements._load_forms",
    "program.main._load_subcommand", "program.main.load_command",
    "store.sql.migration_files.load_migrations", "store.sql.named_queries.load_queries", "text.terms._script_patterns",
    "text.vocabulary.word_pattern",
    "text.comparison.language_tables._known_words", "text.comparison.language_tables.load_table",
    "text.times.grammar.compile_rule", "text.times.lexicon.load_lexicon", "text.times.finder._load_grammar",
    "extract.rules.answer_rules._read_languages", "write.answer_values._read_table",
    "extract.rules.languages.language_table.load_language", "extract.rules.grave_news._compile_patterns",
    "extract.rules.meaning_table._index_rows", "extract.rules.meaning_table._rows_of_verb",
    "extract.rules.named_people._compile_lists", "extract.secrets._compile_pattern", "extract.secrets._choose_rules",
    "extract.secrets._load_trigrams", "extract.secrets._load_hashed_trigrams", "text.small_talk._compile_phrases",
    "extract.command_languages._read_languages", "session.command_replies._read_replies",
    "session.command_replies._compile_replies",
    "extract.request_concepts._read_languages",
    "extract.rules.decisions._compile_forms",
    "text.closed_vocabulary.load_closed_vocabulary",
    "text.stopwords._read_function_words",
    "text.unreal_sentences._compile",
    "transfer.documents.text_recognition._load_engine",
    "surfaces.proxy.quote_answers._read_replies",
}  # fmt: skip
"""Kept for ever, for there are no more of them than stand in the source: patterns, prompts,
queries, grammars.
"""

MANY = 60
FEW = 20
"""Owners that come by, and the bound that everything is held to meanwhile."""
ALWAYS = 45
"""What a container may hold that has nothing to do with how many owners there are: kinds of jobs,
fields, threads.
"""


def decorated() -> Iterator[tuple[str, str, ast.expr]]:
    """Every function of the package that is wrapped to remember:
    its name, the wrapper's, and the wrapping.
    """
    for path in sorted(SOURCE.rglob("*.py")):
        if "testing" in path.parts:
            continue
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef):
                for wrapping in node.decorator_list:
                    name = wrapping.func if isinstance(wrapping, ast.Call) else wrapping
                    text = ast.unparse(name).rpartition(".")[2]
                    if text in ("cache", "lru_cache", "text_cache"):
                        yield f"{module}.{node.name}", text, wrapping


@pytest.mark.covers("S3.70")
def test_every_function_that_remembers_is_known() -> None:
    """What takes texts forgets at a purge;
    what does not is bounded; only what stands in the source is kept for ever.
    """
    found = {(kind, name) for name, kind, _ in decorated()}
    assert {name for kind, name in found if kind == "text_cache"} == {
        name for name in REMEMBERED if "WordPieceTokenizer" not in name
    }
    assert {name for kind, name in found if kind == "lru_cache"} == set(NAMES)
    assert {name for kind, name in found if kind == "cache"} == CLOSED


@pytest.mark.covers("S3.70")
@pytest.mark.parametrize("name", sorted(REMEMBERED | NAMES))
def test_a_function_remembers_so_much_and_no_more(name: str) -> None:
    """Its bound is the one that stands here."""
    most = (REMEMBERED | NAMES)[name]
    if name.endswith("WordPieceTokenizer._spell"):
        call = import_module("engrams.models.embed.static").WordPieceTokenizer({"a": 1}).spell
    else:
        module, _, function = name.rpartition(".")
        call = getattr(import_module(f"engrams.{module}"), function)
    assert call.cache_parameters()["maxsize"] == most
    assert (call in registered_caches()) == (name in REMEMBERED)


def test_what_remembers_is_bounded_and_forgets() -> None:
    """A thousand texts leave ten; a purge of anything leaves none."""
    asked = []

    @text_cache(10)
    def length(text: str) -> int:
        asked.append(text)
        return len(text)

    for number in range(1_000):
        length(f"text {number}")
    assert length.cache_info().currsize == 10  # type: ignore[attr-defined]
    length("text 999")
    assert len(asked) == 1_000
    engrams.text.text_caches.clear_caches()
    assert length.cache_info().currsize == 0  # type: ignore[attr-defined]


@pytest.mark.covers("S3.70")
@pytest.mark.parametrize("name", sorted(BOUNDS))
def test_a_bound_stands_where_it_did(name: str) -> None:
    """Nobody raises one without saying so here."""
    module, _, constant = name.rpartition(".")
    assert getattr(import_module(f"engrams.{module}"), constant) == BOUNDS[name]


def containers(root: object) -> Iterator[tuple[str, int]]:
    """Everything that grows which can be reached from an object and belongs to an object of the
    package: where it is, its size.
    """
    seen: set[int] = set()
    queue = [root]
    while queue:
        one = queue.pop()
        if id(one) in seen or isinstance(one, type | types.ModuleType | types.FrameType):
            continue
        seen.add(id(one))
        if isinstance(one, types.FunctionType):
            queue += one.__closure__ or ()
            continue
        if type(one).__module__.startswith("engrams") and not type(one).__module__.startswith(
            "engrams.settings"
        ):
            for name in {
                *getattr(one, "__dict__", ()),
                *(slot for kind in type(one).__mro__ for slot in getattr(kind, "__slots__", ())),
            }:
                held = getattr(one, name, None)
                if (
                    isinstance(held, dict | OrderedDict | Counter | deque | list | set)
                    or type(held).__name__ == "WeakValueDictionary"
                ):
                    yield f"{type(one).__qualname__}.{name}", len(held)  # type: ignore[arg-type]
        queue += gc.get_referents(one)


def live(engine: MemoryEngine) -> None:
    """Owners who come by once: each says something in a session, asks, and is given a context."""
    for number in range(MANY):
        scope = ("user", f"owner{number}")
        engine.sessions.begin(f"s{number}", scope=scope)
        engine.observe(
            Turn(f"I am Person{number} and I live in Town{number}.", session=f"s{number}"),
            scope=scope,
        )
        engine.search("Where do I live?", scope=scope)
        engine.context("Where do I live?", scope=scope)
        engine.deliver("Where do I live now?", scope=scope, session=f"s{number}")
        engine.sessions.recall(scope, on=False)
        engine.drain()


@pytest.mark.covers("S3.70")
@pytest.mark.parametrize("preset", ["default", "cache", "graph"])
def test_nothing_that_is_kept_grows_with_the_number_of_owners(
    home: Path, preset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With every bound lowered, three times as many owners come by as any of them allows:
    nothing anywhere holds more than that.
    """
    for name in BOUNDS:
        module, _, constant = name.rpartition(".")
        if not name.startswith(("store.sqlite.lexicon", "surfaces", "audit", "store.index")):
            monkeypatch.setattr(import_module(f"engrams.{module}"), constant, FEW)
    small: dict[str, Any] = {
        "store__cache_bytes": 1_000_000,
        "jobs__workers": 0,
        "delivery__catch_up": True,
        "topics__enabled": True,
        "topics__refresh_searches": 50,
        "caps__facts": 5,
    }
    with engrams.open(home=str(home), preset=preset, clock=SettableClock(START), **small) as engine:
        live(engine)
        words = {"TermNumberCache._numbers", "WordPieceTokenizer._ids"}
        held = {
            name: size for name, size in containers(engine) if size > ALWAYS and name not in words
        }
        assert held == {}
        assert (
            max(
                size
                for name, size in containers(engine)
                if name == "InjectedContextFingerprints._owners"
            )
            == FEW
        )
        searcher = getattr(
            engine.store, "_store", engine.store
        )._index_cache  # beside a vault, the store within
        assert searcher.bytes <= 1_000_000
        assert 1 < len(searcher._indexes) < MANY
        assert searcher.bytes == sum(
            cached.index.state.bytes for cached in searcher._indexes.values()
        )


@pytest.mark.covers("S3.70")
def test_what_is_at_hand_of_one_owner_is_bounded_too() -> None:
    """Hits and turns at hand, marks of what was shown, queries, views of an index, and profiles:
    of one owner who asks all day.
    """
    with engrams.testing.temp_engine(
        preset="cache", jobs__workers=0, clock=SettableClock(START)
    ) as engine:
        scope = Scope(("user", "ann"))
        for number in range(50):
            engine.observe(
                Turn(f"Number {number} is my lucky number of the day.", session="s"), scope=scope
            )
            engine.search(
                f"lucky number {number}", scope=scope, kinds=tuple(Kind)[: 1 + number % len(Kind)]
            )
            engine.context(
                f"lucky number {number}", scope=Scope((*scope.labels, "project", f"p{number}"))
            )
            engine.drain()
        tiers = engine.settings.tiers
        assert 0 < len(engine._components.working.ring(scope)) <= tiers.working_size == 20
        assert 0 < len(engine._components.working.hot(scope).ids()) <= tiers.hot_size == 20
        assert (
            len(engine._components.read_deps.profiles._profiles)
            <= BOUNDS["read.profile_cache._MOST"]
        )
        indexes = [cached.index for cached in engine.store._index_cache._indexes.values()]  # type: ignore[attr-defined]
        assert max(len(index._views) for index in indexes) <= BOUNDS["index.owner_index._VIEWS"]


@pytest.mark.covers("S3.70")
def test_marks_of_what_was_shown_are_bounded() -> None:
    """Of one owner two thousand, of all a thousand owners."""
    echoes = InjectedContextFingerprints(ProcessPeers())
    line = "The {} boat is called after the {} harbour."
    echoes.add_context(
        Scope(("user", "ann")),
        Context("", "\n".join(line.format(n, n) for n in range(3_000)), 0, ""),
    )
    for number in range(1_200):
        echoes.add_context(
            Scope(("user", f"owner{number}")), Context("", line.format(number, number), 0, "")
        )
    assert len(echoes._owners) == BOUNDS["write.prompt_fingerprints._MAX_OWNERS"]
    echoes.add_context(
        Scope(("user", "ann")),
        Context("", "\n".join(line.format(n, n) for n in range(3_000)), 0, ""),
    )
    assert len(echoes._owners["user/ann"]) == BOUNDS["write.prompt_fingerprints._MAX_OF_OWNER"]


@pytest.mark.covers("S3.70")
def test_queries_and_judged_sessions_are_bounded() -> None:
    """A remote embedder's last 512 queries, and the last thousand conversations that a judge
    follows.
    """
    embedder = QueryCachingEmbedder(HashEmbedder())
    judge = ListwiseReranker(None, SettableClock(START))
    for number in range(1_200):
        embedder.embed([f"query {number}"], "query")
        judge.judge(RelevanceJudgementRequest(f"s{number}", "q", (("1", "a"),)))
    assert len(embedder._vectors) == 512
    assert len(judge._sessions) <= BOUNDS["models.rerank.listwise._SESSIONS"]
