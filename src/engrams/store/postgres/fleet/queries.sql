-- Statements on what a fleet's machines share beside memory. Those without an owner run as the fleet.

-- name: find_key
SELECT id, name, owner, rights, digest, created_at, expires_at, revoked_at, minute_requests, daily_requests FROM api_keys WHERE id = ?;

-- name: list_keys
SELECT id, name, owner, rights, digest, created_at, expires_at, revoked_at, minute_requests, daily_requests FROM api_keys;

-- name: save_key
INSERT INTO api_keys AS held (id, name, owner, rights, digest, created_at, expires_at, revoked_at, minute_requests, daily_requests)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET revoked_at = least(held.revoked_at, excluded.revoked_at)
RETURNING id, name, owner, rights, digest, created_at, expires_at, revoked_at, minute_requests, daily_requests;

-- name: append_event
INSERT INTO audit_events (owner, at, id, action, actor, target, outcome, number, request) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (owner, at, id) DO NOTHING;

-- name: list_events
SELECT at, action, actor, owner, target, outcome, number, request FROM audit_events
WHERE at >= ? AND at < ? ORDER BY at DESC, id DESC LIMIT ?;

-- name: list_owner_events
SELECT at, action, actor, owner, target, outcome, number, request FROM audit_events
WHERE owner = ? AND at >= ? AND at < ? AND starts_with(action, ?) ORDER BY at DESC, id DESC LIMIT ?;

-- name: list_action_events
WITH RECURSIVE named (action) AS (
    (SELECT action FROM audit_events WHERE action >= ?1 ORDER BY action LIMIT 1)
    UNION ALL
    SELECT (SELECT next.action FROM audit_events AS next WHERE next.action > named.action ORDER BY next.action LIMIT 1)
    FROM named WHERE starts_with(named.action, ?1)
)
SELECT one.* FROM named CROSS JOIN LATERAL (
    SELECT at, action, actor, owner, target, outcome, number, request, id FROM audit_events
    WHERE action = named.action AND at >= ?2 AND at < ?3 ORDER BY at DESC, id DESC LIMIT ?4
) AS one
WHERE starts_with(named.action, ?1) ORDER BY at DESC, id DESC LIMIT ?4;

-- name: list_event_days
WITH RECURSIVE days (at) AS (
    (SELECT at - at % 86400000000 FROM audit_events ORDER BY at LIMIT 1)
    UNION ALL
    SELECT (SELECT later.at - later.at % 86400000000 FROM audit_events AS later WHERE later.at >= days.at + 86400000000 ORDER BY later.at LIMIT 1)
    FROM days WHERE at IS NOT NULL
)
SELECT at FROM days WHERE at IS NOT NULL;

-- name: read_events
SELECT at, action, actor, owner, target, outcome, number, request, id FROM audit_events
WHERE (at, id, owner) > (?, ?, ?) AND at < ? ORDER BY at, id, owner LIMIT ?;

-- name: drop_events
DELETE FROM audit_events
WHERE at <= (SELECT max(oldest.at) FROM (SELECT at FROM audit_events WHERE at < ? ORDER BY at LIMIT ?) AS oldest);

-- name: log_keys
SELECT data FROM log_keys WHERE name = 'session';

-- name: add_log_key
INSERT INTO log_keys (name, data) VALUES ('session', ?) ON CONFLICT (name) DO NOTHING;

-- name: save_log_key
INSERT INTO log_keys (name, data) VALUES ('session', ?) ON CONFLICT (name) DO UPDATE SET data = excluded.data;

-- name: add_session_log
INSERT INTO session_logs (log, owner, id, at, scope, session, data) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (owner, log, id) DO NOTHING;

-- name: session_logs
SELECT id, at, nullif(scope, ''), session, data FROM session_logs
WHERE log = ?1 AND at >= ?2 AND at < ?3 AND (?4 = '' OR session = ?4)
ORDER BY at DESC, number DESC LIMIT ?5;

-- name: owner_session_logs
SELECT id, at, scope, session, data FROM session_logs
WHERE log = ?1 AND at >= ?2 AND at < ?3 AND (?4 = '' OR session = ?4) AND (scope = ?6 OR starts_with(scope, ?6 || '/'))
ORDER BY at DESC, number DESC LIMIT ?5;

-- name: purge_session_logs
DELETE FROM session_logs WHERE log = ? AND at < ?;

-- name: add_upload
INSERT INTO uploads (owner, id, about, bytes, held, touched) VALUES (?, ?, ?, 0, true, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);

-- name: find_upload
SELECT about, bytes FROM uploads WHERE owner = ? AND id = ?;

-- name: list_uploads
SELECT about FROM uploads WHERE owner = ? ORDER BY id DESC;

-- name: every_upload
SELECT about, held, touched FROM uploads ORDER BY owner, id;

-- name: note_upload
UPDATE uploads SET about = ?3, touched = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint WHERE owner = ?1 AND id = ?2;

-- name: grow_upload
UPDATE uploads SET bytes = bytes + ?4, touched = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint WHERE owner = ?1 AND id = ?2 AND bytes = ?3 AND held;

-- name: add_upload_piece
INSERT INTO upload_pieces (owner, upload, start, data) VALUES (?, ?, ?, ?);

-- name: upload_pieces
SELECT start, data FROM upload_pieces WHERE owner = ? AND upload = ? AND start >= ? ORDER BY start LIMIT ?;

-- name: replace_upload_piece
UPDATE upload_pieces SET data = ?4 WHERE owner = ?1 AND upload = ?2 AND start = ?3;

-- name: erase_upload
UPDATE uploads SET held = false WHERE owner = ? AND id = ?;

-- name: erase_upload_pieces
DELETE FROM upload_pieces WHERE owner = ? AND upload = ?;

-- name: add_attachment_piece
INSERT INTO attachment_pieces (owner, digest, part, start, data) VALUES (?, ?, ?, ?, ?) ON CONFLICT (owner, digest, part, start) DO NOTHING;

-- name: attachment_pieces
SELECT start, data FROM attachment_pieces WHERE owner = ? AND digest = ? AND part = ? AND start >= ? ORDER BY start LIMIT ?;

-- name: has_attachment_pieces
SELECT EXISTS (SELECT 1 FROM attachment_pieces WHERE owner = ? AND digest = ?);

-- name: measure_attachments
SELECT digest, sum(octet_length(data))::bigint FROM attachment_pieces WHERE owner = ? AND part = 'file' GROUP BY digest;

-- name: erase_attachment_pieces
DELETE FROM attachment_pieces WHERE owner = ? AND digest = ?;

-- name: drop_upload
DELETE FROM uploads WHERE owner = ? AND id = ?;
