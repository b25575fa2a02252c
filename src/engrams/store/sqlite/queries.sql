-- What only SQLite needs: its files and its list of words.

-- name: any_table
SELECT 1 FROM sqlite_master LIMIT 1;

-- name: our_columns
SELECT t.name, c.name FROM sqlite_master t JOIN pragma_table_info(t.name) c
WHERE t.type = 'table' AND t.sql LIKE 'CREATE TABLE%';

-- name: wal_mode
PRAGMA journal_mode = WAL;

-- name: checkpoint
PRAGMA wal_checkpoint(TRUNCATE);

-- name: backup
VACUUM INTO ?;

-- name: add_migration
INSERT INTO migrations (number, name, checksum) VALUES (?, ?, ?);

-- name: applied_migrations
SELECT number, name, checksum FROM migrations;

-- name: integrity
PRAGMA integrity_check(20);

-- name: unknown_ids
SELECT value FROM json_each(?) WHERE value NOT IN (SELECT id FROM records);

-- name: unchanged_ids
SELECT records.id FROM json_each(?) AS told
JOIN records ON records.id = told.value ->> 0 AND records.version = told.value ->> 2;

-- name: texts_and_hashes
SELECT number, id, owner, version, hash, text, caption FROM records WHERE status <> 'purged';

-- name: seals_of_records
SELECT number, id, owner, version, seal FROM records;

-- name: texts_and_lexemes
SELECT number, id, lexemes, text, caption FROM records WHERE status <> 'purged' AND number % ? = 0;

-- name: set_hash
UPDATE records SET hash = ? WHERE number = ?;

-- name: tallied
SELECT coalesce(sum(total), 0) FROM tallies;

-- name: reindex
REINDEX;

-- name: all_terms
SELECT term, id FROM lexicon;

-- name: some_texts
SELECT number, text, caption FROM records WHERE number > ? AND status <> 'purged' ORDER BY number LIMIT 1000;

-- name: set_lexemes
UPDATE records SET lexemes = ? WHERE number = ?;

-- name: erasures
SELECT value FROM counters WHERE name = 'erasures';

-- name: erasures_and_number
SELECT value, (SELECT id FROM lexicon WHERE term = ?) FROM counters WHERE name = 'erasures';

-- name: drop_index_mark
DELETE FROM counters WHERE name = ?;

-- name: drop_index_marks
DELETE FROM counters WHERE name LIKE 'index %';

-- name: add_erasure
UPDATE counters SET value = value + 1 WHERE name = 'erasures';

-- name: set_counter
INSERT INTO counters (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: left_index
SELECT 1 FROM sqlite_master WHERE name = 'postings';

-- name: data_version
PRAGMA data_version;

-- name: owner_marks
SELECT (SELECT sum(value) FROM counters WHERE name IN ('uses', 'erasures')), EXISTS (SELECT 1 FROM edges WHERE owner = ?2),
    coalesce(newest.changed, 0), coalesce(newest.id, ''), (SELECT changed FROM records WHERE id = ?1 AND owner = ?2)
FROM (SELECT 1) LEFT JOIN (SELECT changed, id FROM records WHERE owner = ?2 ORDER BY changed DESC LIMIT 1) AS newest;

-- name: mark_uses
INSERT INTO counters (name, value) VALUES ('uses', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1;

-- name: record_marks
SELECT id, changed, version, access_count, last_accessed FROM records
WHERE id IN (SELECT value FROM json_each(?)) AND owner = ?;

-- name: find_terms
SELECT term, id FROM lexicon WHERE term IN (SELECT value FROM json_each(?));

-- name: terms_beginning
SELECT term, id FROM lexicon WHERE term > ? AND term < ? LIMIT 200;

-- name: add_terms
INSERT INTO lexicon (term) SELECT value FROM json_each(?) RETURNING term, id;

-- name: terms_by_number
SELECT id, term FROM lexicon WHERE id IN (SELECT value FROM json_each(?));

-- name: drop_term
DELETE FROM lexicon WHERE id = ?;

-- name: left_words
SELECT count(*) FROM lexicon WHERE term IN (SELECT value FROM json_each(?));

-- name: clear_tallies
DELETE FROM tallies;

-- name: fill_tallies
INSERT INTO tallies SELECT owner, scope, kind, layer, tier, status, speaker, count(*),
    sum(octet_length(text) + octet_length(caption) + octet_length(summary) + octet_length(meta))
FROM records GROUP BY 1, 2, 3, 4, 5, 6, 7;

-- name: drop_orphan_vectors
DELETE FROM vectors WHERE record NOT IN (SELECT number FROM records);

-- name: drop_orphan_history
DELETE FROM history WHERE record NOT IN (SELECT number FROM records);

-- name: renumber_changes
UPDATE counters SET value = (SELECT coalesce(max(changed), 0) FROM records) WHERE name = 'changes';

-- name: read_sums
SELECT sums, seal FROM table_sums;

-- name: save_sums
INSERT INTO table_sums (id, sums, seal) VALUES (0, ?, ?)
ON CONFLICT (id) DO UPDATE SET sums = excluded.sums, seal = excluded.seal;

-- name: watch_added
CREATE TEMP TRIGGER record_added AFTER INSERT ON main.records BEGIN
    SELECT note_record(1, new.id, new.hash, new.lexemes, new.number, new.changed, new.words, new.question, new.dated);
END;

-- name: watch_removed
CREATE TEMP TRIGGER record_removed AFTER DELETE ON main.records BEGIN
    SELECT note_record(-1, old.id, old.hash, old.lexemes, old.number, old.changed, old.words, old.question, old.dated);
END;

-- name: watch_changed
CREATE TEMP TRIGGER record_changed
AFTER UPDATE OF id, hash, lexemes, number, changed, words, question, dated ON main.records BEGIN
    SELECT note_record(-1, old.id, old.hash, old.lexemes, old.number, old.changed, old.words, old.question, old.dated),
        note_record(1, new.id, new.hash, new.lexemes, new.number, new.changed, new.words, new.question, new.dated);
END;

-- name: summed_records
SELECT id, hash, lexemes, number, changed, words, question, dated FROM records;
