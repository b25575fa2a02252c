-- What a home on one machine keeps in files, for all machines of a fleet: keys of the API, and the audit log.
CREATE TABLE api_keys (
    id label PRIMARY KEY,
    owner label NOT NULL,
    name label NOT NULL,
    rights label NOT NULL,
    digest label NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint,
    minute_requests bigint NOT NULL,
    daily_requests bigint NOT NULL
);

CREATE TABLE audit_events (
    owner label NOT NULL,
    at bigint NOT NULL,
    id bigint NOT NULL,
    action label NOT NULL,
    actor label NOT NULL,
    target label NOT NULL,
    outcome label NOT NULL,
    number bigint NOT NULL,
    request label NOT NULL,
    PRIMARY KEY (owner, at, id)
);

CREATE INDEX audit_events_at ON audit_events (at, id, owner);
CREATE INDEX audit_events_action ON audit_events (action, at, id);

-- A key is looked up before anybody knows whose it is: that is the fleet's work, and the service has no right to any key. Nobody
-- may change what a key opens, only end it; nobody may change an event, only erase it with its day. An owner reads the own events.
ALTER TABLE api_keys ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE audit_events ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY fleet ON api_keys TO engrams_fleet USING (true);
CREATE POLICY fleet ON audit_events TO engrams_fleet USING (true);
CREATE POLICY own ON audit_events FOR SELECT TO engrams_service USING (owner = nullif(current_setting('engrams.owner', true), ''));
GRANT SELECT, INSERT, UPDATE (revoked_at) ON api_keys TO engrams_fleet;
GRANT SELECT, INSERT, DELETE ON audit_events TO engrams_fleet;
GRANT SELECT ON audit_events TO engrams_service;
