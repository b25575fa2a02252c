-- Queries by name. Every look-up of memory names its owner. A literal condition such as "external_id <> ''" repeats a
-- partial index's own, which is how SQLite sees that the index applies.

-- name: shrink
PRAGMA shrink_memory;

-- name: all_lexemes
SELECT number, lexemes FROM records WHERE length(lexemes) > 0;

-- name: lock_owner
SELECT value FROM counters WHERE name = 'changes';

-- name: set_changes
UPDATE counters SET value = max(value, ?) WHERE name = 'changes';

-- name: spend
INSERT INTO counters (name, value) VALUES (?, ?)
ON CONFLICT (name) DO UPDATE SET value = counters.value + excluded.value RETURNING value;

-- name: spent
SELECT coalesce((SELECT value FROM counters WHERE name = ?), 0);

-- name: spent_both
SELECT name, value FROM counters WHERE name IN (?, ?);

-- name: prune_spent
DELETE FROM counters WHERE name LIKE 'chat %' AND name < ?;

-- name: prune_windows
DELETE FROM counters WHERE name >= ? AND name < ?;

-- name: count_use
UPDATE records SET access_count = access_count + ?1, last_accessed = CASE WHEN last_accessed > ?2 THEN last_accessed ELSE ?2 END
WHERE id = ?3 AND owner = ?4 AND status <> 'purged';

-- name: select_records
SELECT id, role, speaker, session, external_id, superseded_by, subject, predicate, object, category,
    caption, summary, text, kind, layer, tier, status, scope,
    recorded_at, valid_from, valid_to, retired_at, ended_at, last_accessed,
    importance, confidence, trust, strength, access_count, version,
    tags, triggers, steps, provenance, evidence, meta, owner, seal
FROM records;

-- name: sealed_row
WHERE number = ?;

-- name: owned_rows
WHERE owner = ?;

-- name: rows_after
SELECT * FROM records WHERE owner = ? AND (changed, number) > (?, ?) ORDER BY changed, number LIMIT ?

-- name: owned_seals
SELECT id, seal FROM records WHERE owner = ?;

-- name: read_census
SELECT total, sum, seal FROM census WHERE owner = ?;

-- name: save_census
INSERT INTO census (owner, total, sum, seal) VALUES (?, ?, ?, ?)
ON CONFLICT (owner) DO UPDATE SET total = excluded.total, sum = excluded.sum, seal = excluded.seal;

-- name: census_owners
SELECT owner FROM census UNION SELECT owner FROM tallies;

-- name: set_back
SELECT id FROM records WHERE owner = ?1
    AND version < (SELECT max(h.version) FROM history AS h WHERE h.record = records.number) LIMIT ?2;

-- name: owned_numbers
SELECT number FROM records WHERE owner = ?;

-- name: any_record
SELECT 1 FROM records LIMIT 1;

-- name: set_seal
UPDATE records SET seal = ? WHERE number = ?;

-- name: named_records
WHERE id IN (SELECT value FROM json_each(?)) AND owner = ?;

-- name: select_marks
SELECT id, changed, version, access_count, last_accessed FROM records;

-- name: select_slots
SELECT id, subject, predicate, role, version FROM records;

-- name: count_matching
SELECT count(*) FROM;

-- name: folded_text
instr(fold(text || ' ' || caption), ?) > 0

-- name: saying
(instr(text, ?) > 0 OR instr(caption, ?) > 0 OR instr(summary, ?) > 0
    OR (steps <> '[]' AND instr(steps, ?) > 0) OR (evidence <> '[]' AND instr(evidence, ?) > 0))

-- name: saying_formerly
EXISTS (SELECT 1 FROM history WHERE history.record = records.number AND (instr(history.before, ?) > 0 OR instr(history.after, ?) > 0))

-- name: about_names
subject <> '' AND (subject GLOB '*[^ -~]*' OR EXISTS (
    SELECT 1 FROM json_each(?) WHERE instr(lower(subject), value) > 0 OR instr(value, lower(subject)) > 0))

-- name: once
ON CONFLICT DO NOTHING RETURNING number;

-- name: place_of
SELECT recorded_at, number FROM records WHERE id = ? AND owner = ?;

-- name: quoting_numbers
number IN (SELECT record FROM quotes WHERE quotes.owner = ? AND quotes.source IN (SELECT value FROM json_each(?)) AND quotes.current = 1);

-- name: is_taught
EXISTS (SELECT 1 FROM quotes AS teaching JOIN records AS learned ON learned.owner = teaching.owner AND learned.number = teaching.record
WHERE teaching.owner = records.owner AND teaching.source = records.id AND teaching.current = 1 AND learned.status = 'active'
AND learned.kind IN ('fact', 'preference', 'procedure', 'correction', 'negative', 'rule'));

-- name: number_of
SELECT number, status FROM records WHERE id = ? AND owner = ?;

-- name: lexemes_of
SELECT lexemes FROM records WHERE number = ?;

-- name: find_externals
SELECT external_id, id FROM records
WHERE owner = ? AND scope = ? AND external_id IN (SELECT value FROM json_each(?)) AND external_id <> '';

-- name: find_same
SELECT id FROM records WHERE owner = ? AND id = ? AND hash = ? AND scope = ?;

-- name: find_twin
SELECT id FROM records WHERE owner = ? AND hash = ? AND scope = ? AND kind = ? AND status = 'active' ORDER BY number LIMIT 1;

-- name: touch_record
UPDATE records SET changed = ? WHERE number = ?;

-- name: add_history
INSERT INTO history (record, version, at, action, actor, reason, before, after) VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: history
SELECT version, at, action, actor, reason, before, after FROM history WHERE record = ? ORDER BY version;

-- name: add_quote
INSERT INTO quotes (owner, source, record, current) VALUES (?, ?, ?, 1)
ON CONFLICT (owner, source, record) DO UPDATE SET current = 1;

-- name: age_quotes
UPDATE quotes SET current = 0 WHERE record = ?;

-- name: drop_quotes
DELETE FROM quotes WHERE record = ?;

-- name: drop_quote
DELETE FROM quotes WHERE owner = ? AND source = ? AND record = ?;

-- name: quoting
SELECT number, evidence, version, id FROM quotes JOIN records ON records.number = quotes.record
WHERE quotes.owner = ? AND quotes.source = ?;

-- name: set_evidence
UPDATE records SET evidence = ?, version = version + 1 WHERE number = ?;

-- name: unquote_history
UPDATE history SET before = json_remove(before, '$.evidence'), after = json_remove(after, '$.evidence')
WHERE record = ? AND before IS NOT NULL;

-- name: blank_history
UPDATE history SET reason = '', before = NULL, after = NULL WHERE record = ?;

-- name: rewrite_history
UPDATE history SET reason = ?, before = ?, after = ? WHERE record = ? AND version = ?;

-- name: session_data
SELECT id, data FROM sessions WHERE owner = ? AND data <> '{}';

-- name: rewrite_session
UPDATE sessions SET data = ? WHERE owner = ? AND id = ?;

-- name: state_data
SELECT name, data FROM owner_state WHERE owner = ? AND data <> '{}';

-- name: rewrite_state
UPDATE owner_state SET data = ?, token = token + 1 WHERE owner = ? AND name = ?;

-- name: job_data
SELECT id, payload FROM jobs WHERE state <> 'done' AND kind <> 'purge' AND payload <> '{}';

-- name: rewrite_job
UPDATE jobs SET payload = ? WHERE id = ?;

-- name: blank_record
UPDATE records SET status = 'purged', changed = ?, version = version + 1, role = '', speaker = '', session = '', external_id = '',
    superseded_by = '', subject = '', predicate = '', object = '', category = '', caption = '', summary = '', text = '',
    valid_from = NULL, valid_to = NULL, retired_at = NULL, ended_at = NULL, last_accessed = NULL,
    importance = 0, confidence = 0, trust = 0, strength = 1, access_count = 0, words = 0, question = FALSE, dated = FALSE,
    tags = '[]', triggers = '[]', steps = '[]', provenance = '{}', evidence = '[]', meta = '{}', lexemes = x''
WHERE number = ? RETURNING version;

-- name: drop_edges
DELETE FROM edges WHERE owner = ?1 AND (source = ?2 OR target = ?2);

-- name: drop_outbox
DELETE FROM outbox WHERE owner = ? AND record = ?;

-- name: left_record
SELECT count(*) FROM records WHERE number = ? AND (status <> 'purged' OR text || caption || summary || subject || predicate
    || object || category || speaker || session || external_id <> '' OR meta <> '{}' OR evidence <> '[]' OR tags <> '[]'
    OR triggers <> '[]' OR steps <> '[]' OR provenance <> '{}');

-- name: left_terms
SELECT count(*) FROM records WHERE number = ? AND length(lexemes) > 0;

-- name: left_vectors
SELECT count(*) FROM vectors WHERE record = ?;

-- name: left_history
SELECT count(*) FROM history WHERE record = ? AND (before IS NOT NULL OR after IS NOT NULL OR reason <> '');

-- name: left_edges
SELECT count(*) FROM edges WHERE owner = ?1 AND (source = ?2 OR target = ?2);

-- name: left_quotes
SELECT count(*) FROM quotes WHERE owner = ? AND source = ?;

-- name: left_outbox
SELECT count(*) FROM outbox WHERE owner = ? AND record = ?;

-- name: missing_tail
WHERE id > ? AND status = 'active' AND NOT EXISTS
    (SELECT 1 FROM vectors WHERE vectors.record = records.number
        AND vectors.model = (SELECT models.id FROM models WHERE models.name = ?))
ORDER BY id LIMIT ?;

-- name: find_model
SELECT id, dimension FROM models WHERE name = ?;

-- name: add_model
INSERT INTO models (name, dimension) VALUES (?, ?) RETURNING id, dimension;

-- name: add_vector
INSERT INTO vectors (record, model, data) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET data = excluded.data;

-- name: drop_vectors
DELETE FROM vectors WHERE record = ?;

-- name: drop_vector
DELETE FROM vectors WHERE record = ? AND model = ?;

-- name: all_vectors
SELECT vectors.record, vectors.model, models.dimension, vectors.data FROM vectors JOIN models ON models.id = vectors.model;

-- name: model_name
SELECT name FROM models WHERE id = ?;

-- name: get_vectors
SELECT records.id, vectors.data FROM records JOIN vectors ON vectors.record = records.number
WHERE records.id IN (SELECT value FROM json_each(?)) AND records.owner = ? AND vectors.model = ?;

-- name: changed_ids
SELECT id, changed FROM records WHERE owner = ? AND changed > ? ORDER BY changed LIMIT ?;

-- name: change_back
SELECT changed FROM records WHERE owner = ? ORDER BY changed DESC LIMIT 1 OFFSET ?;

-- name: newest_change
SELECT changed, id FROM records WHERE owner = ? ORDER BY changed DESC LIMIT 1;

-- name: change_of
SELECT changed FROM records WHERE id = ? AND owner = ?;

-- name: newest_change_beside
SELECT changed, id, (SELECT changed FROM records WHERE id = ?1 AND owner = ?2) AS kept FROM records WHERE owner = ?2
ORDER BY changed DESC LIMIT 1;

-- name: last_change
SELECT max(changed) FROM records WHERE owner = ?;

-- name: load_rows
WITH owned AS MATERIALIZED (SELECT number FROM records WHERE owner = ?2 ORDER BY number)
SELECT r.number, r.changed, r.id, r.scope, r.session, r.kind, r.status, r.speaker, coalesce(r.valid_from, r.recorded_at),
    r.valid_from, r.valid_to, r.recorded_at, r.retired_at, r.ended_at, r.words, r.question, r.dated, r.importance,
    r.confidence, r.lexemes, v.data, r.role, r.triggers <> '[]'
FROM owned CROSS JOIN records AS r ON r.number = owned.number LEFT JOIN vectors AS v ON v.record = r.number AND v.model = ?1
WHERE r.status IN ('active', 'superseded', 'archived');

-- name: load_changes
SELECT r.number, r.changed, r.id, r.scope, r.session, r.kind, r.status, r.speaker, coalesce(r.valid_from, r.recorded_at),
    r.valid_from, r.valid_to, r.recorded_at, r.retired_at, r.ended_at, r.words, r.question, r.dated, r.importance,
    r.confidence, r.lexemes, v.data, r.role, r.triggers <> '[]'
FROM records AS r LEFT JOIN vectors AS v ON v.record = r.number AND v.model = ?
WHERE r.owner = ? AND r.changed > ?
ORDER BY r.changed;

-- name: every_scope
SELECT DISTINCT scope FROM tallies WHERE status <> 'purged' ORDER BY scope;

-- name: scopes_of
SELECT scope, CAST(sum(CASE status WHEN 'active' THEN total ELSE 0 END) AS BIGINT) FROM tallies
WHERE owner = ? AND status <> 'purged' GROUP BY scope ORDER BY scope;

-- name: tally_kinds
SELECT status, kind, layer, tier, CAST(sum(total) AS BIGINT) FROM tallies;

-- name: storage_use
SELECT CAST(coalesce(sum(total), 0) AS BIGINT), CAST(coalesce(sum(bytes), 0)
    + (SELECT coalesce(sum(bytes), 0) FROM attachments WHERE owner = ?1) AS BIGINT) FROM tallies
WHERE owner = ?1 AND status <> 'purged';

-- name: reserve_attachment
INSERT INTO attachments (owner, digest, bytes, reserved_at) VALUES (?, ?, ?, ?) ON CONFLICT (owner, digest) DO NOTHING;

-- name: keep_attachment
INSERT INTO attachments (owner, digest, bytes, reserved_at) VALUES (?, ?, ?, 0) ON CONFLICT (owner, digest) DO UPDATE SET reserved_at = 0;

-- name: list_attachments
SELECT digest, reserved_at FROM attachments WHERE owner = ?;

-- name: drop_attachment
DELETE FROM attachments WHERE owner = ? AND digest = ?;

-- name: tally_speakers
SELECT speaker, CAST(sum(total) AS BIGINT) FROM tallies WHERE owner = ? AND status = 'active' AND speaker <> '';

-- name: count_vectors
SELECT models.name, count(*) FROM vectors JOIN models ON models.id = vectors.model GROUP BY models.name;

-- name: count_owner_vectors
SELECT models.name, count(*) FROM records JOIN vectors ON vectors.record = records.number JOIN models ON models.id = vectors.model
WHERE records.owner = ? GROUP BY models.name;

-- name: count_reached_vectors
SELECT models.name, count(*) FROM records JOIN (SELECT record, model FROM vectors) AS embedded ON embedded.record = records.number
    JOIN models ON models.id = embedded.model
WHERE status <> 'purged';

-- name: recount
WITH counted AS (
    SELECT owner, scope, kind, layer, tier, status, speaker, count(*),
        sum(octet_length(text) + octet_length(caption) + octet_length(summary) + octet_length(meta))
    FROM records GROUP BY 1, 2, 3, 4, 5, 6, 7)
SELECT 1 WHERE EXISTS (SELECT * FROM counted EXCEPT SELECT * FROM tallies) OR EXISTS (SELECT * FROM tallies EXCEPT SELECT * FROM counted);

-- name: add_edge
INSERT INTO edges (owner, source, target, type, weight, count) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (owner, source, target, type) DO UPDATE SET weight = excluded.weight, count = edges.count + excluded.count;

-- name: drop_edge
DELETE FROM edges WHERE owner = ? AND source = ? AND target = ? AND type = ?;

-- name: save_topic
INSERT INTO topics (owner, id, scope, label, named, members, model, centroid, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (owner, id) DO UPDATE SET scope = excluded.scope, label = excluded.label, named = excluded.named, members = excluded.members,
    model = excluded.model, centroid = excluded.centroid, at = excluded.at;

-- name: drop_topic
DELETE FROM topics WHERE owner = ? AND id = ?;

-- name: select_topics
SELECT id, scope, label, members, model, centroid, at, named FROM topics;

-- name: topics_over
SELECT DISTINCT target FROM edges WHERE owner = ?1 AND source = ?2 AND type = 'in_topic'
UNION
SELECT DISTINCT over.source FROM edges AS one JOIN edges AS over ON over.owner = one.owner AND over.target = one.target
WHERE one.owner = ?1 AND one.source = ?2 AND one.type = 'in_topic' AND over.type = 'abstracted_from';

-- name: left_topics
SELECT count(*) FROM topics WHERE owner = ? AND id IN (SELECT value FROM json_each(?));

-- name: records_of_ids
SELECT * FROM records WHERE id IN (SELECT value FROM json_each(?)) AND owner = ?;

-- name: leading_records
SELECT * FROM records WHERE owner = ?1 AND id IN (SELECT value FROM json_each(?2) UNION SELECT source FROM edges INDEXED BY edges_target
    WHERE owner = ?1 AND target IN (SELECT value FROM json_each(?2)) AND type IN (SELECT value FROM json_each(?3)));

-- name: edges
SELECT source, target, type, weight, count FROM edges
WHERE owner = ?1 AND source IN (SELECT value FROM json_each(?2))
UNION ALL
SELECT source, target, type, weight, count FROM edges INDEXED BY edges_target
WHERE owner = ?1 AND target IN (SELECT value FROM json_each(?2)) AND source NOT IN (SELECT value FROM json_each(?2));

-- name: add_outbox
INSERT INTO outbox (topic, owner, record, payload) VALUES (?, ?, ?, ?);

-- name: outbox
SELECT id, topic, owner, record, payload FROM outbox ORDER BY id LIMIT ?;

-- name: clear_outbox
DELETE FROM outbox WHERE id IN (SELECT CAST(value AS BIGINT) FROM json_each(?));

-- name: waiting_job
SELECT id, payload, due, priority, attempts FROM jobs WHERE kind = ? AND key = ? AND state = 'waiting';

-- name: add_job
INSERT INTO jobs (id, kind, key, payload, state, attempt, attempts, due, priority, error, worker, lease, lease_until, created_at, updated_at)
VALUES (?, ?, ?, ?, 'waiting', 0, ?, ?, ?, '', '', '', NULL, ?, ?);

-- name: add_leased_job
INSERT INTO jobs (id, kind, key, payload, state, attempt, attempts, due, priority, error, worker, lease, lease_until, created_at, updated_at)
VALUES (?, ?, ?, ?, 'running', 1, ?, ?, ?, '', ?, ?, ?, ?, ?);

-- name: merge_job
UPDATE jobs SET payload = ?, due = ?, priority = ?, attempts = ?, updated_at = ? WHERE id = ?;

-- A job that was queued or claimed more than an hour from now has its times of a clock that was ahead: it is due.
-- name: due_job
SELECT id, attempt, attempts, state FROM (
    SELECT * FROM (
        SELECT * FROM jobs AS j WHERE state = 'waiting' AND (due <= ?1 OR created_at > ?1 + 3600000000)
            AND (?2 = '[]' OR kind IN (SELECT value FROM json_each(?2)))
            AND NOT EXISTS (SELECT 1 FROM json_each(?3)
                WHERE j.key = value OR instr(j.key, value || '/') = 1 OR instr(j.key, value || '|') = 1)
            AND NOT EXISTS (SELECT 1 FROM jobs AS other WHERE other.kind = j.kind AND other.key = j.key
                AND other.state = 'running' AND other.lease_until > ?1 AND other.updated_at <= ?1 + 3600000000)
        ORDER BY priority DESC, due LIMIT 1)
    UNION ALL
    SELECT * FROM (
        SELECT * FROM jobs AS j WHERE state = 'running' AND (lease_until <= ?1 OR updated_at > ?1 + 3600000000)
            AND (?2 = '[]' OR kind IN (SELECT value FROM json_each(?2)))
            AND NOT EXISTS (SELECT 1 FROM json_each(?3)
                WHERE j.key = value OR instr(j.key, value || '/') = 1 OR instr(j.key, value || '|') = 1)
            AND NOT EXISTS (SELECT 1 FROM jobs AS other WHERE other.kind = j.kind AND other.key = j.key
                AND other.state = 'running' AND other.lease_until > ?1 AND other.updated_at <= ?1 + 3600000000)
        ORDER BY priority DESC, due LIMIT 1))
ORDER BY priority DESC, due, id LIMIT 1;

-- name: named_job
SELECT id, attempt, attempts, state FROM jobs AS j
WHERE id = ?2 AND (state = 'waiting' OR (state = 'running' AND (lease_until <= ?1 OR updated_at > ?1 + 3600000000)))
    AND NOT EXISTS (SELECT 1 FROM jobs AS other WHERE other.kind = j.kind AND other.key = j.key
        AND other.state = 'running' AND other.lease_until > ?1 AND other.updated_at <= ?1 + 3600000000);

-- name: hold_key
SELECT 1 FROM jobs WHERE id = ?;

-- name: claim_job
UPDATE jobs SET state = 'running', attempt = attempt + 1, worker = ?, lease = ?, lease_until = ?, updated_at = ? WHERE id = ?;

-- name: bury_job
UPDATE jobs SET state = 'dead', error = ?, lease = '', lease_until = NULL, updated_at = ? WHERE id = ?;

-- name: get_job
SELECT id, kind, key, payload, state, attempt, due, priority, error, lease, lease_until, created_at FROM jobs WHERE id = ?;

-- name: leased_job
SELECT id, kind, key, payload, attempt, attempts, due, priority FROM jobs WHERE lease = ? AND lease <> '' AND state = 'running';

-- name: renew_lease
UPDATE jobs SET lease_until = ? WHERE lease = ? AND lease <> '' AND state = 'running' RETURNING id;

-- name: finish_job
UPDATE jobs SET state = 'done', payload = '{}', error = '', lease = '', lease_until = NULL, updated_at = ?
WHERE lease = ? AND lease <> '' AND state = 'running' RETURNING id;

-- name: prune_jobs
DELETE FROM jobs WHERE state = 'done' AND updated_at < ?;

-- name: requeue_job
UPDATE jobs SET state = 'waiting', payload = ?, attempt = ?, due = ?, error = ?, lease = '', lease_until = NULL, updated_at = ? WHERE id = ?;

-- name: drop_job
DELETE FROM jobs WHERE id = ?;

-- name: live_jobs
SELECT id, kind, key, payload, state, error FROM jobs WHERE state <> 'done' AND kind <> 'purge';

-- name: keep_progress
UPDATE jobs SET payload = ? WHERE lease = ? AND lease <> '' AND state = 'running' RETURNING id;

-- name: strip_job
UPDATE jobs SET payload = ?, error = '' WHERE id = ?;

-- name: cancel_jobs
DELETE FROM jobs WHERE state = 'waiting' AND id IN (SELECT value FROM json_each(?));

-- name: dead_jobs
SELECT id, kind, key, payload, due, error FROM jobs WHERE state = 'dead' AND (?1 = '[]' OR id IN (SELECT value FROM json_each(?1)));

-- name: list_jobs
SELECT id, kind, key, payload, state, attempt, due, priority, error, lease, lease_until, created_at FROM jobs
WHERE ?1 = '[]' OR state IN (SELECT value FROM json_each(?1))
ORDER BY updated_at DESC, id DESC LIMIT ?2;

-- name: waiting_jobs
SELECT id, kind, key, payload, state, attempt, due, priority, error, lease, lease_until, created_at FROM jobs
WHERE state = 'waiting' AND kind = ? AND key >= ? AND key < ?;

-- name: workload
SELECT kind, state, count(*) FROM jobs GROUP BY kind, state ORDER BY kind, state;

-- name: next_due
SELECT min(moment) FROM (
    SELECT min(lease_until) AS moment FROM jobs
    WHERE state = 'running' AND (?1 = '[]' OR kind IN (SELECT value FROM json_each(?1)))
    UNION ALL
    SELECT * FROM (
        SELECT due FROM jobs AS j INDEXED BY jobs_next WHERE state = 'waiting'
            AND (?1 = '[]' OR kind IN (SELECT value FROM json_each(?1)))
            AND NOT EXISTS (SELECT 1 FROM jobs AS other WHERE other.kind = j.kind AND other.key = j.key AND other.state = 'running')
        ORDER BY due LIMIT 1));

-- name: load_session
SELECT id, scope, state, started_at, last_active, token, data FROM sessions WHERE owner = ? AND id = ?;

-- name: save_session
INSERT INTO sessions (owner, id, scope, state, started_at, last_active, token, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (owner, id) DO UPDATE SET scope = excluded.scope, state = excluded.state, started_at = excluded.started_at,
    last_active = excluded.last_active, token = excluded.token, data = excluded.data;

-- name: touch_session
INSERT INTO sessions (owner, id, scope, state, started_at, last_active, token, data) VALUES (?, ?, ?, 'active', ?, ?, 1, ?)
ON CONFLICT (owner, id) DO UPDATE SET
    last_active = CASE WHEN excluded.last_active > sessions.last_active THEN excluded.last_active ELSE sessions.last_active END,
    started_at = CASE sessions.state WHEN 'closed' THEN excluded.started_at ELSE sessions.started_at END,
    token = CASE sessions.state WHEN 'closed' THEN sessions.token + 1 ELSE sessions.token END,
    state = CASE sessions.state WHEN 'closed' THEN 'active' ELSE sessions.state END
RETURNING data;

-- name: idle_sessions
SELECT id, scope, state, started_at, last_active, token, data FROM sessions
WHERE state <> 'closed' AND last_active <= ? ORDER BY last_active, id LIMIT ?;

-- name: list_sessions
SELECT id, scope, state, started_at, last_active, token, data FROM sessions;

-- name: load_states
SELECT name, token, data FROM owner_state WHERE owner = ? AND name IN (SELECT value FROM json_each(?));

-- name: load_state
SELECT token, data FROM owner_state WHERE owner = ? AND name = ?;

-- name: save_state
INSERT INTO owner_state (owner, name, token, data) VALUES (?, ?, ?, ?)
ON CONFLICT (owner, name) DO UPDATE SET token = excluded.token, data = excluded.data;

-- name: numbers
SELECT number FROM records;

-- name: rows
SELECT (SELECT count(*) FROM records), (SELECT count(*) FROM vectors), (SELECT count(*) FROM history), (SELECT count(*) FROM edges),
    (SELECT count(*) FROM jobs), (SELECT count(*) FROM sessions), (SELECT count(*) FROM owner_state),
    (SELECT count(*) FROM outbox), (SELECT count(*) FROM lexicon);

-- name: every_owner
SELECT owner FROM records UNION SELECT owner FROM sessions UNION SELECT owner FROM owner_state WHERE owner <> ''
UNION SELECT owner FROM edges UNION SELECT owner FROM topics UNION SELECT owner FROM outbox ORDER BY 1;

-- name: move_history
SELECT records.id, h.version, h.at, h.action, h.actor, h.reason, h.before, h.after
FROM records JOIN history AS h ON h.record = records.number WHERE records.owner = ? ORDER BY 1, 2;

-- name: move_quotes
SELECT records.id, q.source, q.current FROM records JOIN quotes AS q ON q.record = records.number WHERE records.owner = ? ORDER BY 1, 2;

-- name: move_vectors
SELECT records.id, models.name, models.dimension, v.data
FROM records JOIN vectors AS v ON v.record = records.number JOIN models ON models.id = v.model WHERE records.owner = ? ORDER BY 1, 2;

-- name: move_spend
SELECT name, value FROM counters WHERE name LIKE 'chat %' ORDER BY name;
