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
