-- The bytes of an owner's texts are counted as its records are: a quota needs no scan. Nobody writes meanwhile.
LOCK TABLE records IN SHARE MODE;
ALTER TABLE tallies ADD COLUMN bytes bigint NOT NULL DEFAULT 0;

UPDATE tallies AS t SET bytes = counted.bytes FROM (
    SELECT owner, scope, kind, layer, tier, status, speaker,
        sum(octet_length(text) + octet_length(caption) + octet_length(summary) + octet_length(meta)) AS bytes
    FROM records GROUP BY 1, 2, 3, 4, 5, 6, 7) AS counted
WHERE (t.owner, t.scope, t.kind, t.layer, t.tier, t.status, t.speaker)
    = (counted.owner, counted.scope, counted.kind, counted.layer, counted.tier, counted.status, counted.speaker);

CREATE OR REPLACE FUNCTION tally() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        UPDATE engrams.tallies SET total = total - 1,
            bytes = bytes - (octet_length(OLD.text) + octet_length(OLD.caption) + octet_length(OLD.summary) + octet_length(OLD.meta))
        WHERE (owner, scope, kind, layer, tier, status, speaker)
            = (OLD.owner, OLD.scope, OLD.kind, OLD.layer, OLD.tier, OLD.status, OLD.speaker);
        DELETE FROM engrams.tallies WHERE (owner, scope, kind, layer, tier, status, speaker)
            = (OLD.owner, OLD.scope, OLD.kind, OLD.layer, OLD.tier, OLD.status, OLD.speaker) AND total < 1;
    END IF;
    INSERT INTO engrams.tallies AS t VALUES (NEW.owner, NEW.scope, NEW.kind, NEW.layer, NEW.tier, NEW.status, NEW.speaker, 1,
        octet_length(NEW.text) + octet_length(NEW.caption) + octet_length(NEW.summary) + octet_length(NEW.meta))
    ON CONFLICT (owner, scope, kind, layer, tier, status, speaker) DO UPDATE SET total = t.total + 1, bytes = t.bytes + excluded.bytes;
    RETURN NULL;
END $$;

DROP TRIGGER records_moved ON records;
CREATE TRIGGER records_moved AFTER UPDATE ON records FOR EACH ROW
    WHEN ((OLD.scope, OLD.kind, OLD.layer, OLD.tier, OLD.status, OLD.speaker,
            octet_length(OLD.text) + octet_length(OLD.caption) + octet_length(OLD.summary) + octet_length(OLD.meta))
        IS DISTINCT FROM (NEW.scope, NEW.kind, NEW.layer, NEW.tier, NEW.status, NEW.speaker,
            octet_length(NEW.text) + octet_length(NEW.caption) + octet_length(NEW.summary) + octet_length(NEW.meta))) EXECUTE FUNCTION tally();
