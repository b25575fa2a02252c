-- The state of the schema after every migration; a test compares the two.

-- The hot and small columns come first: loading a search index must not walk through long texts.
CREATE TABLE records (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    scope TEXT NOT NULL,
    kind TEXT NOT NULL,
    layer TEXT NOT NULL,
    tier TEXT NOT NULL,
    status TEXT NOT NULL,
    role TEXT NOT NULL,
    speaker TEXT NOT NULL,
    session TEXT NOT NULL,
    external_id TEXT NOT NULL,
    changed INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    valid_from INTEGER,
    valid_to INTEGER,
    retired_at INTEGER,
    ended_at INTEGER,
    words INTEGER NOT NULL,
    question INTEGER NOT NULL,
    dated INTEGER NOT NULL,
    importance REAL NOT NULL,
    confidence REAL NOT NULL,
    trust REAL NOT NULL,
    strength INTEGER NOT NULL,
    access_count INTEGER NOT NULL,
    last_accessed INTEGER,
    version INTEGER NOT NULL,
    hash BLOB NOT NULL,
    lexemes BLOB NOT NULL,
    superseded_by TEXT NOT NULL,
    subject TEXT NOT NULL,
    predicate TEXT NOT NULL,
    object TEXT NOT NULL,
    category TEXT NOT NULL,
    tags TEXT NOT NULL,
    triggers TEXT NOT NULL,
    steps TEXT NOT NULL,
    provenance TEXT NOT NULL,
    evidence TEXT NOT NULL,
    meta TEXT NOT NULL,
    caption TEXT NOT NULL,
    summary TEXT NOT NULL,
    text TEXT NOT NULL,
    seal BLOB NOT NULL DEFAULT x''
) STRICT;

-- The one index that does not start with the owner: ids sort by time, so inserts touch its last page only, and the
-- backfill of vectors walks it across owners. Every look-up by id names the owner too.
CREATE UNIQUE INDEX records_id ON records (id, owner);
CREATE INDEX records_changed ON records (owner, changed);
CREATE INDEX records_recorded ON records (owner, recorded_at);
CREATE INDEX records_hash ON records (owner, hash);
CREATE INDEX records_kind ON records (owner, kind, recorded_at) WHERE kind <> 'turn';
CREATE INDEX records_session ON records (owner, session, recorded_at) WHERE session <> '';
CREATE INDEX records_subject ON records (owner, subject, predicate) WHERE subject <> '';
-- A context begins with what is believed most; a question by a statement's nature looks for its predicate.
CREATE INDEX records_believed ON records (
    owner, (CASE kind WHEN 'correction' THEN 0 WHEN 'negative' THEN 1 WHEN 'rule' THEN 1 ELSE 2 END),
    (confidence * trust) DESC, strength DESC, recorded_at, number
) WHERE kind <> 'turn' AND status = 'active';
CREATE INDEX records_predicate ON records (owner, predicate, recorded_at, subject) WHERE predicate <> '';
CREATE UNIQUE INDEX records_external ON records (owner, scope, external_id) WHERE external_id <> '';

-- How many records there are of each sort, and the bytes of their texts, kept by triggers: counts, scopes, speakers and
-- quotas need no scan.
CREATE TABLE tallies (
    owner TEXT NOT NULL,
    scope TEXT NOT NULL,
    kind TEXT NOT NULL,
    layer TEXT NOT NULL,
    tier TEXT NOT NULL,
    status TEXT NOT NULL,
    speaker TEXT NOT NULL,
    total INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (owner, scope, kind, layer, tier, status, speaker)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER records_added AFTER INSERT ON records BEGIN
    INSERT INTO tallies VALUES (new.owner, new.scope, new.kind, new.layer, new.tier, new.status, new.speaker, 1,
        octet_length(new.text) + octet_length(new.caption) + octet_length(new.summary) + octet_length(new.meta))
    ON CONFLICT DO UPDATE SET total = total + 1, bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER records_moved
AFTER UPDATE OF scope, kind, layer, tier, status, speaker, text, caption, summary, meta ON records BEGIN
    UPDATE tallies SET total = total - 1,
        bytes = bytes - (octet_length(old.text) + octet_length(old.caption) + octet_length(old.summary) + octet_length(old.meta))
    WHERE owner = old.owner AND scope = old.scope AND kind = old.kind AND layer = old.layer
        AND tier = old.tier AND status = old.status AND speaker = old.speaker;
    DELETE FROM tallies
    WHERE owner = old.owner AND scope = old.scope AND kind = old.kind AND layer = old.layer
        AND tier = old.tier AND status = old.status AND speaker = old.speaker AND total < 1;
    INSERT INTO tallies VALUES (new.owner, new.scope, new.kind, new.layer, new.tier, new.status, new.speaker, 1,
        octet_length(new.text) + octet_length(new.caption) + octet_length(new.summary) + octet_length(new.meta))
    ON CONFLICT DO UPDATE SET total = total + 1, bytes = bytes + excluded.bytes;
END;

-- How many rows an owner has, and the sum of hashes of their seals: a row that is taken away is noticed.
CREATE TABLE census (
    owner TEXT PRIMARY KEY,
    total INTEGER NOT NULL,
    sum BLOB NOT NULL,
    seal BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Sums of the hashes of all rows by table: a change of another program beside the memories is noticed.
CREATE TABLE table_sums (
    id INTEGER PRIMARY KEY CHECK (id = 0),
    sums BLOB NOT NULL,
    seal BLOB NOT NULL
) STRICT;

-- One row a change; before and after are NULL for the first one, whose content follows from the later ones.
CREATE TABLE history (
    record INTEGER NOT NULL,
    version INTEGER NOT NULL,
    at INTEGER NOT NULL,
    action TEXT NOT NULL,
    actor TEXT NOT NULL,
    reason TEXT NOT NULL,
    before TEXT,
    after TEXT,
    PRIMARY KEY (record, version)
) STRICT, WITHOUT ROWID;

-- Which records a record's evidence quotes, or (not current) once quoted: a purge must find both.
CREATE TABLE quotes (
    owner TEXT NOT NULL,
    source TEXT NOT NULL,
    record INTEGER NOT NULL,
    current INTEGER NOT NULL,
    PRIMARY KEY (owner, source, record)
) STRICT, WITHOUT ROWID;

CREATE INDEX quotes_record ON quotes (record);

CREATE TABLE edges (
    owner TEXT NOT NULL,
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    type TEXT NOT NULL,
    weight REAL NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (owner, source, target, type)
) STRICT, WITHOUT ROWID;

CREATE INDEX edges_target ON edges (owner, target);

-- Groups of memories that are about the same, one scope's each; who belongs to which is told by edges of the type in_topic.
CREATE TABLE topics (
    owner TEXT NOT NULL,
    id TEXT NOT NULL,
    scope TEXT NOT NULL,
    label TEXT NOT NULL,
    named INTEGER NOT NULL,
    members INTEGER NOT NULL,
    model TEXT NOT NULL,
    centroid BLOB NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (owner, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE models (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    dimension INTEGER NOT NULL
) STRICT;

CREATE TABLE vectors (
    record INTEGER NOT NULL,
    model INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (record, model)
) STRICT;

-- Numbers of index terms. AUTOINCREMENT: the number of a term that was erased must never name another one.
CREATE TABLE lexicon (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    term TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE jobs (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    payload TEXT NOT NULL,
    state TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    due INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    error TEXT NOT NULL,
    worker TEXT NOT NULL,
    lease TEXT NOT NULL,
    lease_until INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX jobs_waiting ON jobs (kind, key) WHERE state = 'waiting';
CREATE INDEX jobs_running ON jobs (kind, key, lease_until) WHERE state = 'running';
CREATE UNIQUE INDEX jobs_lease ON jobs (lease) WHERE lease <> '';
CREATE INDEX jobs_due ON jobs (state, priority DESC, due);
CREATE INDEX jobs_next ON jobs (due) WHERE state = 'waiting';
CREATE INDEX jobs_updated ON jobs (state, updated_at);

CREATE TABLE sessions (
    owner TEXT NOT NULL,
    id TEXT NOT NULL,
    scope TEXT NOT NULL,
    state TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    last_active INTEGER NOT NULL,
    token INTEGER NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (owner, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_idle ON sessions (last_active) WHERE state <> 'closed';
CREATE INDEX sessions_recent ON sessions (owner, last_active);

-- Small states of owners, each changed by compare and swap: learned, profile, garden.
CREATE TABLE owner_state (
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    token INTEGER NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (owner, name)
) STRICT, WITHOUT ROWID;

-- Files of documents that count in an owner's quota. A file is reserved before memory tells of it, and kept once it is written.
CREATE TABLE attachments (
    owner TEXT NOT NULL,
    digest TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    reserved_at INTEGER NOT NULL,
    PRIMARY KEY (owner, digest)
) STRICT, WITHOUT ROWID;

CREATE TABLE outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    topic TEXT NOT NULL,
    owner TEXT NOT NULL,
    record TEXT NOT NULL,
    payload TEXT NOT NULL
) STRICT;

CREATE INDEX outbox_record ON outbox (owner, record);

-- changes: the last number given to a changed record. erasures: grows whenever terms leave the lexicon.
CREATE TABLE counters (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO counters VALUES ('changes', 0), ('erasures', 0);

CREATE TABLE migrations (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    checksum TEXT NOT NULL
) STRICT;
