-- The logs of crises and of feedback, the key of their hashes, and files that wait to be imported belong to the fleet, and to no
-- machine's disk. Of a record that is about nobody the owner is empty.
CREATE TABLE session_logs (
    owner label NOT NULL,
    log label NOT NULL,
    id label NOT NULL,
    number bigint GENERATED ALWAYS AS IDENTITY,
    at bigint NOT NULL,
    scope label NOT NULL,
    session label NOT NULL,
    data label NOT NULL,
    PRIMARY KEY (owner, log, id)
);

CREATE INDEX session_logs_at ON session_logs (log, at);
CREATE INDEX session_logs_owner_at ON session_logs (owner, log, at);

CREATE TABLE log_keys (
    name label PRIMARY KEY,
    data bytea NOT NULL
);

CREATE TABLE uploads (
    owner label NOT NULL,
    id label NOT NULL,
    about label NOT NULL,
    bytes bigint NOT NULL,
    held boolean NOT NULL,
    touched bigint NOT NULL,
    PRIMARY KEY (owner, id)
);

CREATE TABLE upload_pieces (
    owner label NOT NULL,
    upload label NOT NULL,
    start bigint NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (owner, upload, start)
);

DO $$
DECLARE one text;
BEGIN
    FOREACH one IN ARRAY ARRAY['session_logs', 'uploads', 'upload_pieces'] LOOP
        EXECUTE format('CREATE POLICY own ON %I TO engrams_service USING (owner = nullif(current_setting(''engrams.owner'', true), ''''))', one);
    END LOOP;
    FOREACH one IN ARRAY ARRAY['session_logs', 'log_keys', 'uploads', 'upload_pieces'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', one);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', one);
    END LOOP;
END $$;

-- The fleet lists everybody's records and erases old ones, and writes those that are about nobody. It sees which uploads there are, so
-- that what is abandoned goes, and no piece of a file.
CREATE POLICY fleet ON session_logs TO engrams_fleet USING (true) WITH CHECK (owner = '');
CREATE POLICY fleet ON log_keys TO engrams_fleet USING (true);
CREATE POLICY fleet ON uploads FOR SELECT TO engrams_fleet USING (true);
GRANT SELECT, INSERT ON session_logs TO engrams_service;
GRANT SELECT, INSERT, DELETE ON session_logs TO engrams_fleet;
GRANT SELECT, INSERT, UPDATE ON log_keys TO engrams_fleet;
GRANT SELECT, INSERT, UPDATE, DELETE ON uploads, upload_pieces TO engrams_service;
GRANT SELECT ON uploads TO engrams_fleet;
