-- What Postgres says in other words, by the names of the shared queries. The policies of the tables add the owner to what
-- names a record by its number alone. LATERAL with LIMIT looks every id up by the index of ids, whatever the planner expects: where it
-- takes an owner for a small one, it would rather read all of the owner's rows.

-- name: lock_owner
INSERT INTO owners (owner) VALUES (current_setting('engrams.owner'))
ON CONFLICT (owner) DO UPDATE SET changed = owners.changed RETURNING changed, (SELECT max(terms) FROM migrations);

-- name: set_changes
UPDATE owners SET changed = ? WHERE owner = current_setting('engrams.owner');

-- name: last_change
SELECT max(changed) FROM owners WHERE owner = ?;

-- name: records_of_ids
SELECT one.* FROM (SELECT DISTINCT value FROM json_each(?)) AS named
CROSS JOIN LATERAL (SELECT * FROM records WHERE id = named.value AND owner = ? LIMIT 1) AS one;

-- name: leading_records
SELECT one.* FROM (
    SELECT value FROM json_each(?2)
    UNION SELECT source FROM edges WHERE owner = ?1 AND target IN (SELECT value FROM json_each(?2)) AND type IN (SELECT value FROM json_each(?3))
) AS named
CROSS JOIN LATERAL (SELECT * FROM records WHERE id = named.value AND owner = ?1 LIMIT 1) AS one;

-- name: load_rows
SELECT r.number, r.changed, r.id, r.scope, r.session, r.kind, r.status, r.speaker, coalesce(r.valid_from, r.recorded_at),
    r.valid_from, r.valid_to, r.recorded_at, r.retired_at, r.ended_at, r.words, r.question, r.dated, r.importance,
    r.confidence, r.lexemes, v.data, r.role, r.triggers <> '[]'
FROM records AS r LEFT JOIN vectors AS v ON v.owner = r.owner AND v.record = r.number AND v.model = ?1
WHERE r.owner = ?2 AND r.status IN ('active', 'superseded', 'archived')
ORDER BY r.number;

-- name: count_owner_vectors
SELECT models.name, counted.total FROM (SELECT model, count(*) AS total FROM vectors WHERE owner = ? GROUP BY model) AS counted
JOIN models ON models.id = counted.model;

-- name: shrink
SELECT 1;

-- name: missing_tail
WHERE id > ? AND status = 'active' AND NOT EXISTS
    (SELECT 1 FROM vectors WHERE vectors.owner = records.owner AND vectors.record = records.number
        AND vectors.model = (SELECT models.id FROM models WHERE models.name = ?))
ORDER BY id LIMIT ?;

-- name: add_model
INSERT INTO models (name, dimension) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING id, dimension;

-- name: add_vector
INSERT INTO vectors (record, model, data) VALUES (?, ?, ?) ON CONFLICT (owner, record, model) DO UPDATE SET data = excluded.data;

-- name: folded_text
instr(folded, ?) > 0

-- name: saying_formerly
EXISTS (SELECT 1 FROM history WHERE history.owner = records.owner AND history.record = records.number
    AND (instr(history.before, ?) > 0 OR instr(history.after, ?) > 0))

-- name: about_names
subject <> '' AND (subject ~ '[^ -~]' OR EXISTS (
    SELECT 1 FROM json_each(?) WHERE instr(lower(subject), value) > 0 OR instr(value, lower(subject)) > 0))

-- name: unquote_history
UPDATE history SET before = (before::jsonb - 'evidence')::text, after = (after::jsonb - 'evidence')::text
WHERE record = ? AND before IS NOT NULL;

-- name: blank_record
UPDATE records SET status = 'purged', changed = ?, version = version + 1, role = '', speaker = '', session = '', external_id = '',
    superseded_by = '', subject = '', predicate = '', object = '', category = '', caption = '', summary = '', text = '',
    valid_from = NULL, valid_to = NULL, retired_at = NULL, ended_at = NULL, last_accessed = NULL,
    importance = 0, confidence = 0, trust = 0, strength = 1, access_count = 0, words = 0, question = FALSE, dated = FALSE,
    tags = '[]', triggers = '[]', steps = '[]', provenance = '{}', evidence = '[]', meta = '{}', lexemes = '', folded = ''
WHERE number = ? RETURNING version;

-- name: all_lexemes
SELECT number, lexemes FROM records WHERE owner = current_setting('engrams.owner') AND length(lexemes) > 0;

-- name: census_owners
SELECT owner FROM owners UNION SELECT owner FROM tallies;

-- name: read_census
SELECT total, sum, seal FROM owners WHERE owner = ?;

-- name: save_census
INSERT INTO owners (owner, total, sum, seal) VALUES (?, ?, ?, ?)
ON CONFLICT (owner) DO UPDATE SET total = excluded.total, sum = excluded.sum, seal = excluded.seal;

-- name: waiting_job
SELECT id, payload, due, priority, attempts FROM jobs WHERE kind = ? AND key = ? AND state = 'waiting' FOR UPDATE;

-- name: due_job
SELECT id, attempt, attempts, state FROM jobs WHERE id IN (
    (SELECT id FROM jobs AS j WHERE state = 'waiting' AND (due <= ?1 OR created_at > ?1 + 3600000000)
        AND (?2 = '[]' OR kind IN (SELECT value FROM json_each(?2)))
        AND NOT EXISTS (SELECT 1 FROM json_each(?3)
            WHERE j.key = value OR instr(j.key, value || '/') = 1 OR instr(j.key, value || '|') = 1)
        AND NOT EXISTS (SELECT 1 FROM jobs AS other WHERE other.kind = j.kind AND other.key = j.key
            AND other.state = 'running' AND other.lease_until > ?1 AND other.updated_at <= ?1 + 3600000000)
    ORDER BY priority DESC, due LIMIT 50)
    UNION ALL
    (SELECT id FROM jobs AS j WHERE state = 'running' AND (lease_until <= ?1 OR updated_at > ?1 + 3600000000)
        AND (?2 = '[]' OR kind IN (SELECT value FROM json_each(?2)))
        AND NOT EXISTS (SELECT 1 FROM json_each(?3)
            WHERE j.key = value OR instr(j.key, value || '/') = 1 OR instr(j.key, value || '|') = 1)
        AND NOT EXISTS (SELECT 1 FROM jobs AS other WHERE other.kind = j.kind AND other.key = j.key
            AND other.state = 'running' AND other.lease_until > ?1 AND other.updated_at <= ?1 + 3600000000)
    ORDER BY priority DESC, due LIMIT 50))
ORDER BY priority DESC, due, id LIMIT 1 FOR UPDATE SKIP LOCKED;

-- name: list_jobs
SELECT id, kind, key, payload, state, attempt, due, priority, error, lease, lease_until, created_at
FROM json_each(CASE ?1 WHEN '[]' THEN '["waiting", "running", "dead", "done"]' ELSE ?1 END) AS wanted
CROSS JOIN LATERAL (SELECT * FROM jobs WHERE state = wanted.value ORDER BY updated_at DESC, id DESC LIMIT ?2) AS listed
ORDER BY updated_at DESC, id DESC LIMIT ?2;

-- name: hold_key
SELECT CASE WHEN pg_try_advisory_xact_lock(hashtextextended(kind || '|' || key, 0)) THEN 1 END FROM jobs WHERE id = ?;

-- name: rows
SELECT (SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class WHERE relnamespace = 'engrams'::regnamespace AND relkind = 'r'),
    (SELECT count(*) FROM records), (SELECT count(*) FROM vectors), (SELECT count(*) FROM jobs), (SELECT count(*) FROM sessions),
    (SELECT count(*) FROM outbox);

-- name: every_owner
SELECT owner FROM owners ORDER BY owner;
