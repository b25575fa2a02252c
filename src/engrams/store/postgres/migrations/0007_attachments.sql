-- Files of documents that count in an owner's quota. A file is reserved before memory tells of it, and kept once it is written.
CREATE TABLE attachments (
    owner label NOT NULL,
    digest label NOT NULL,
    bytes bigint NOT NULL,
    reserved_at bigint NOT NULL,
    PRIMARY KEY (owner, digest)
);

-- Their contents in pieces, and those of small copies of pictures (part: file or preview).
CREATE TABLE attachment_pieces (
    owner label NOT NULL,
    digest label NOT NULL,
    part label NOT NULL,
    start bigint NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (owner, digest, part, start)
);

-- Pictures and sounds are compressed already.
ALTER TABLE attachment_pieces ALTER COLUMN data SET STORAGE EXTERNAL;

DO $$
DECLARE one text;
BEGIN
    FOREACH one IN ARRAY ARRAY['attachments', 'attachment_pieces'] LOOP
        EXECUTE format('CREATE POLICY own ON %I TO engrams_service USING (owner = nullif(current_setting(''engrams.owner'', true), ''''))', one);
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', one);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', one);
    END LOOP;
END $$;

GRANT SELECT, INSERT, UPDATE, DELETE ON attachments, attachment_pieces TO engrams_service;
