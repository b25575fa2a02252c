"""Every setting, by section; each says what it is and its default."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from engrams.settings.audit import AuditSettings
from engrams.settings.feedback import FeedbackSettings
from engrams.settings.garden import GardenSettings
from engrams.settings.owner import login
from engrams.settings.review import ReviewSettings
from engrams.settings.safety import SafetySettings
from engrams.settings.section import Section, Share
from engrams.settings.sessions import SessionSettings
from engrams.settings.skills import SkillSettings
from engrams.settings.summary import SummarySettings
from engrams.settings.tiers import CapSettings, TierSettings
from engrams.settings.topics import RouteSettings, TopicSettings


class Limits(Section):
    """Sizes beyond which input is refused."""

    text_bytes: int = Field(1_000_000, ge=1, description="Largest text of one memory, bytes of UTF-8.")
    meta_bytes: int = Field(100_000, ge=2, description="Largest metadata of one memory, bytes of JSON.")
    results: int = Field(1000, ge=1, description="Largest `limit` of a search or page.")


class StoreSettings(Section):
    """Where memory lives."""

    url: str = Field("", description="Empty: memory.db in the home folder. `:memory:`, a path, or postgresql://…")
    durability: Literal["full", "normal"] = Field("full", description="full: an acknowledged write survives power loss.")
    readers: int = Field(4, ge=1, le=64, description="Reading connections.")
    busy_seconds: float = Field(10.0, ge=0, description="How long to wait for another process's write.")
    cache_bytes: int = Field(1_000_000_000, ge=1_000_000, description="Memory for loaded search indexes, bytes.")
    exact_limit: int = Field(30_000, ge=100, description="Records in reach up to which everything is scored exactly.")


class EmbedSettings(Section):
    """The embedding model."""

    provider: Literal["builtin", "onnx", "openai", "ollama", "null"] = Field("builtin", description="Which one.")
    model: str = Field("", description="onnx: a folder or hub name. openai, ollama: the model's name.")
    url: str = Field("", description="Base URL of the server (openai, ollama).")
    api_key: str = Field("", description="Key for that server.", json_schema_extra={"secret": True})
    query_prefix: str | None = Field(None, description="Text put before a query. None: the model card's; empty: none.")
    dimension: int = Field(0, ge=0, description="Ask the server for this many dimensions. 0: its own.")
    batch: int = Field(64, ge=1, description="Texts a call.")
    timeout: float = Field(30.0, gt=0, description="Seconds a call may take.")


class ChatSettings(Section):
    """The language model for extraction and tending; none is needed."""

    provider: Literal["none", "openai", "ollama"] = Field("none", description="Which kind of server.")
    model: str = Field("", description="The model's name.")
    url: str = Field("", description="Base URL, for example http://localhost:11434.")
    api_key: str = Field("", description="Key for that server.", json_schema_extra={"secret": True})
    timeout: float = Field(60.0, gt=0, description="Seconds a call may take.")
    retries: int = Field(3, ge=0, le=10, description="Tries after a failure that waiting may cure.")
    daily_calls: int = Field(0, ge=0, description="Calls a day, 0: no limit.")
    daily_tokens: int = Field(0, ge=0, description="Tokens a day, 0: no limit.")


class WriteSettings(Section):
    """What happens to a text on its way in."""

    gate: bool = Field(True, description="Keep small talk and noise from extraction (the journal keeps every turn).")
    min_words: int = Field(2, ge=0, description="Fewer meaningful words than this are not extracted from.")
    extract: Literal["off", "rules", "llm", "auto"] = Field("auto", description="auto: llm where a chat model is set, else rules.")
    speakers: tuple[str, ...] = Field(("user",), description="Roles whose statements become memories.")
    reconcile: Literal["off", "rules", "llm", "auto"] = Field("auto", description="How a new fact meets the known ones.")
    policy: Literal["off", "rules", "llm"] = Field("rules", description="Whether a candidate is stored, held or dropped.")
    secrets: Literal["redact", "refuse", "off"] = Field("redact", description="What to do with API keys, passwords and tokens.")
    pii: Literal["allow", "redact", "refuse"] = Field("allow", description="What to do with personal data such as card numbers.")
    dedup_jaccard: Share = Field(0.85, ge=0, le=1, description="Token overlap from which two facts of one triple are one (004).")
    min_confidence: Share = Field(0.5, ge=0, le=1, description="Candidates below this are dropped.")
    batch: int = Field(12, ge=1, description="Turns a model extraction looks at together.")
    debounce: float = Field(30.0, ge=0, le=300, description="Seconds of quiet before a model extraction runs (001: 1 to 300); 0: none.")
    lanes: Literal["one", "two"] = Field("one", description="two: a model is asked for facts and for rules apart, at the same time (004).")
    on_error: Literal["rules", "hold", "coexist"] = Field(
        "rules", description="A model that fails to reconcile: let rules do it, hold the statement, or keep both (004: hold)."
    )
    contradicts: Share = Field(
        0.0,
        ge=0,
        le=1,
        description="Cosine from which a model is shown the five nearest of the same category, and nothing else (003: 0.5).",
    )
    project: str = Field("", description="Folder whose .gitignore and .secretsignore name files never stored. Empty: the current one.")


class ReadWeights(Section):
    """Weights of the absolute scores that a read adds up; fitted on conversations left out (docs/concepts/recall)."""

    cos: float = 3.3
    cosctx: float = 3.8
    cosnext: float = 2.3
    bm: float = 1.0
    bmctx: float = 4.8
    bmses: float = 3.6
    speaker: float = 2.05
    date: float = 4.9
    slot: float = 2.0
    question: float = -0.8
    when: float = 1.9
    length: float = 0.35
    recency: float = 0.05
    importance: float = 0.0
    confidence: float = 0.0


class RerankSettings(Section):
    """A model that judges the best candidates once more."""

    provider: Literal["none", "crossencoder", "http", "listwise"] = Field("none", description="listwise asks the chat model.")
    model: str = Field("", description="crossencoder: a folder or hub name. http: the model's name.")
    url: str = Field("", description="http: base URL of the /rerank server.")
    api_key: str = Field("", description="Key for that server.", json_schema_extra={"secret": True})
    candidates: int = Field(30, ge=1, description="How many of the best are judged.")
    seconds: float = Field(1.0, gt=0, description="Time there is; what is not judged by then keeps its score.")
    threshold: Share | None = Field(None, ge=0, le=1, description="Judged below this is dropped (002: 0.35). None: nothing is.")
    weight: Share = Field(0.5, ge=0, le=1, description="Share of the judgement in the final score.")


class GraphSettings(Section):
    """How links between memories add to what was found."""

    depth: int = Field(1, ge=0, le=3, description="Steps along links from the best; 0: none (003: 2).")
    seeds: int = Field(10, ge=1, description="How many of the best are started from (003).")
    decay: Share = Field(0.7, ge=0, le=1, description="What each step keeps (003).")
    bonus: Share = Field(0.1, ge=0, le=1, description="Share of a linked memory's cascade score added to its own.")


class FloorSettings(Section):
    """What a source must score for a memory to count as found by it. 0: anything."""

    dense: Share = Field(0.0, ge=0, le=1, description="Cosine (000: 0.6, 003: 0.4, 004: 0.5).")
    model: str = Field("", description="The embedding model that floor was set for; another one's own card says what is related.")
    lexical: Share = Field(0.0, ge=0, le=1, description="Share of the words' weight.")
    recall: Share = Field(0.0, ge=0, le=1, description="Share of the query's words; or two words that are 0.4 of the memory's (004: 0.33).")


class ReadSettings(Section):
    """How memories are found."""

    limit: int = Field(10, ge=0, description="Hits a search returns by default.")
    width: int = Field(400, ge=10, description="Candidates a source contributes in a large scope.")
    spare: float = Field(1.5, ge=1, description="Candidates looked at for each hit wanted, besides `more` (001: 2, 002: 3, 004: 5).")
    more: int = Field(20, ge=0, description="Candidates besides, for those that turn out to be one (002: 0).")
    per_scope: bool = Field(False, description="So many candidates for each scope of the reach (002).")
    leave_out: tuple[str, ...] = Field((), description="Kinds that are no candidates unless asked for (002: summary).")
    episodes: int = Field(0, ge=0, description="Most episodes among the hits (004: 2); 0: as many as come.")
    episode_days: float = Field(0.0, ge=0, description="Days after which episodes are no candidates (004: 30); 0: never.")
    fusion: Literal["weighted", "sum", "rrf"] = Field("weighted", description="weighted: brought to 0..1. sum: as the weights are.")
    lexical: Literal["share", "saturated"] = Field("share", description="saturated: any shared word counts 0.3 at least (001).")
    rrf_k: float = Field(60.0, gt=0, description="RRF constant (003, 004).")
    weights: ReadWeights = ReadWeights()
    recency_days: float = Field(30.0, gt=0, description="tau of exp(-age/tau), days (002).")
    longterm_days: float = Field(30.0, gt=0, description="tau of what is long known, where reads go by tiers (000).")
    recency_weight: Share = Field(0.0, ge=0, le=1, description="Share of recency in the final score, after judging (002: 0.2).")
    half_life_days: float = Field(0.0, ge=0, description="Days in which the score of what was said halves; 0: never (001: 30).")
    access_boost: float = Field(0.0, ge=0, le=1, description="What use just now adds to a score; fades in a day (003: 0.5).")
    route: RouteSettings = RouteSettings()
    floors: FloorSettings = FloorSettings()
    gap_top: Share = Field(0.0, ge=0, le=1, description="Share of the best score below which hits are dropped (003: 0.9).")
    gap_drop: Share = Field(0.0, ge=0, le=1, description="Ratio of neighbours' scores below which the rest is dropped (003: 0.95).")
    triggers: int = Field(3, ge=0, le=50, description="Most rules that surface because the query names their trigger; 0: none.")
    seasons: tuple[str, ...] = Field((), description="What it is the season of: memories tagged season:NAME count only then (003).")
    floor: Share = Field(0.0, ge=0, le=1, description="Fused absolute score below which nothing is returned.")
    abstain: Share = Field(0.1, ge=0, le=1, description="Best score by content below which a read says that nothing came near.")
    mmr_lambda: Share = Field(1.0, ge=0, le=1, description="1: relevance only; lower: more variety (002: 0.7).")
    duplicate: Share = Field(0.97, ge=0, le=1, description="Word overlap from which a later hit repeats an earlier one.")
    context_tokens: int = Field(2000, ge=0, description="Token budget of a context (001).")
    profile: Literal["all", "user"] = Field("all", description="user: of facts, only what is about the user and lasts (001).")
    prefix_tokens: int = Field(600, ge=0, description="Share of it that the stable profile may use.")
    own_tokens: int = Field(0, ge=0, description="Tokens of the profile that corrections have to themselves (001: 500).")
    overflow: Literal["skip", "stop"] = Field("skip", description="What does not fit is passed over, or ends the profile (001: stop).")
    lines: Literal["text", "role", "triple"] = Field(
        "text", description="role: [role] text, best first (002). triple: [category] Subject PREDICATE object - 'quote' (004)."
    )
    tokens: str = Field("estimate", description="Token counter: estimate, or a tiktoken encoding's name.")


class UsageSettings(Section):
    """What is learned from which memories were used; never on the path of a read."""

    on: bool = Field(True, description="Count uses of what a search returned.")
    co_occurs: Share = Field(0.0, ge=0, le=1, description="Cosine from which memories found together are linked; 0: none (000: 0.6).")
    related: Share = Field(0.0, ge=0, le=1, description="Weight of a new link between memories that helped together (003: 0.6); 0: none.")
    gaps: bool = Field(False, description="Remember questions for which nothing was near (003).")


class DeliverySettings(Section):
    """When a conversation gets what memory has to say, and not twice."""

    mode: Literal["sync", "pending"] = Field("sync", description="pending: found during one turn, given at the next (003).")
    fresh_seconds: float = Field(120.0, gt=0, description="Age from which what is pending is dropped (003).")
    shown_minutes: float = Field(0.0, ge=0, description="For so long a memory is not shown to a conversation again (003: 45).")
    topic: Share = Field(0.3, ge=0, le=1, description="Cosine to the turn before below which the topic changed (003).")
    catch_up: bool = Field(False, description="The first turn of a conversation gets the latest episode, however old (004).")


class JobSettings(Section):
    """Work off the path."""

    workers: int = Field(4, ge=0, le=64, description="Worker threads (000); 0: jobs run only when asked.")
    retries: int = Field(5, ge=1, description="Attempts before a job waits in the dead-letter list.")
    depth: int = Field(1000, ge=1, description="Updates that may wait before `updates.add` refuses more (001).")
    backoff: float = Field(2.0, ge=0, description="Seconds before the first retry; doubles, to an hour at most.")
    lease: float = Field(120.0, gt=0, description="Seconds after which a silent worker's job is taken over.")


class UpstreamSettings(Section):
    """An upstream of its own for some models."""

    models: tuple[str, ...] = Field(min_length=1, description="Names of models, or patterns such as gpt-*.")
    url: str = Field(min_length=1, description="Base URL of the server.")
    key: str = Field("", description="Key for it; a client's own bearer token wins.")


class ServeSettings(Section):
    """engrams serve."""

    host: str = Field("127.0.0.1", description="Address; any other than loopback needs keys.")
    port: int = Field(8100, ge=0, le=65535, description="Port (002).")
    upstream: str = Field("", description="Base URL of an OpenAI-compatible server; empty: answer from memory.")
    upstream_key: str = Field("", description="Key for it; a client's own bearer token wins.", json_schema_extra={"secret": True})
    routes: tuple[UpstreamSettings, ...] = Field(
        (), description="[[serve.routes]] with models, url and key: upstreams by model.", json_schema_extra={"secret": True}
    )
    jwt_secret: str = Field("", description="Secret of a web front end's signed user header.", json_schema_extra={"secret": True})
    top_k: int = Field(5, ge=0, description="Memories put into a request (002); 0: none.")
    timeout: float = Field(600.0, gt=0, description="Seconds an upstream answer may take.")
    keys: Literal["auto", "always"] = Field("auto", description="auto: keys are needed on any address but loopback.")
    rate: float = Field(50.0, ge=0, description="Requests a second of one key, ten times that at once; 0: no limit.")
    upload_bytes: int = Field(2_000_000_000, ge=1, description="Largest file of an import.")
    names: tuple[str, ...] = Field((), description="Host names under which it is reached, as behind a reverse proxy.")
    origins: tuple[str, ...] = Field((), description="Web sites whose pages may ask it, such as https://app.example.")
    log: Literal["off", "json"] = Field("off", description="json: a line per request on standard error, without any text of memory.")
    wipe: bool = Field(False, description="POST /api/reset may erase everything (000); else only `engrams purge --all` does.")


class VaultSettings(Section):
    """Memories as files that people read, edit and version."""

    on: bool = Field(False, description="Keep every memory as a Markdown file too.")
    path: str = Field("", description="The folder of the files. Empty: vault in the home folder.")
    truth: Literal["files", "db"] = Field("files", description="files: an edit by hand changes memory. db: files only show it.")
    watch: Literal["off", "serve", "auto", "poll"] = Field(
        "serve", description="Follow edits while running. serve: in `engrams serve` only (002). poll: for network drives."
    )
    poll_seconds: float = Field(2.0, gt=0, description="How often polling looks.")
    adopt: bool = Field(True, description="A new file without an id becomes a memory; else it is reported and left alone.")
    guard: Share = Field(0.3, ge=0, le=1, description="Share of files (of ten at least) that may vanish at once without asking.")
    git: bool = Field(True, description="Keep the history of the files in git.")
    git_seconds: float = Field(5.0, ge=0, description="Seconds of quiet before a commit.")
    remote: str = Field("", description="A git remote's URL to keep in step with; empty: none.")
    daily: bool = Field(True, description="Write daily notes.")
    dream_at: str = Field("23:55", description="When to dream, UTC (001); empty: only by hand or by the other triggers.")
    dream_files: int = Field(0, ge=0, description="Dream after so many new daily notes; 0: never for that.")
    dream_bytes: int = Field(0, ge=0, description="Dream when MEMORY.md and the notes since the last dream exceed this; 0: never.")
    dream_days: int = Field(1, ge=1, le=30, description="Days a scheduled dream looks back (001); by hand it is three.")
    dream_confirm: bool = Field(False, description="A dream waits for `engrams dream --apply`.")
    memory_items: int = Field(50, ge=1, description="Most items in MEMORY.md (001).")


class Settings(Section):
    """All of them. Build with ``load``; change with ``model_copy(update=...)``."""

    home: Path = Field(Path("~/.engrams"), description="The home folder (ENGRAMS_HOME).")
    preset: str = Field("default", description="Which preset the values start from.")
    user: str = Field("", description="Whose memory commands without --user use. Empty: the login name.")
    enabled: bool = Field(True, description="False: nothing is read, written or run.")
    incognito: bool = Field(False, description="True: memory lives in this process only; no trace on disk.")
    test: bool = Field(False, description="True: everything is kept in a home of its own, the folder test-mode of the home.")
    limits: Limits = Limits()
    store: StoreSettings = StoreSettings()
    embed: EmbedSettings = EmbedSettings()
    chat: ChatSettings = ChatSettings()
    write: WriteSettings = WriteSettings()
    read: ReadSettings = ReadSettings()
    rerank: RerankSettings = RerankSettings()
    graph: GraphSettings = GraphSettings()
    topics: TopicSettings = TopicSettings()
    tiers: TierSettings = TierSettings()
    caps: CapSettings = CapSettings()
    summary: SummarySettings = SummarySettings()
    review: ReviewSettings = ReviewSettings()
    garden: GardenSettings = GardenSettings()
    usage: UsageSettings = UsageSettings()
    delivery: DeliverySettings = DeliverySettings()
    sessions: SessionSettings = SessionSettings()
    jobs: JobSettings = JobSettings()
    serve: ServeSettings = ServeSettings()
    vault: VaultSettings = VaultSettings()
    skills: SkillSettings = SkillSettings()
    audit: AuditSettings = AuditSettings()
    safety: SafetySettings = SafetySettings()
    feedback: FeedbackSettings = FeedbackSettings()

    @property
    def owner(self) -> str:
        """Whose memory it is where a call names nobody: ``user``, else the login name."""
        return self.user or login()
