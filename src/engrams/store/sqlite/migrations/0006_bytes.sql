-- The bytes of an owner's texts are counted as its records are: a quota needs no scan.
DROP TRIGGER records_added;
DROP TRIGGER records_moved;
DROP TABLE tallies;
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

INSERT INTO tallies SELECT owner, scope, kind, layer, tier, status, speaker, count(*),
    sum(octet_length(text) + octet_length(caption) + octet_length(summary) + octet_length(meta))
FROM records GROUP BY 1, 2, 3, 4, 5, 6, 7;

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
