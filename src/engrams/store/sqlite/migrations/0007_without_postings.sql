-- The full-text index goes: nothing ranked by it, and every write paid for it (docs/decisions/0015).
-- SQLite drops only an index that tells its format, which a damaged file may have lost.
CREATE TABLE IF NOT EXISTS postings_config (k PRIMARY KEY, v) WITHOUT ROWID;
INSERT OR REPLACE INTO postings_config (k, v) VALUES ('version', 4);
DROP TABLE IF EXISTS vocabulary;
DROP TABLE IF EXISTS postings;
DROP TABLE IF EXISTS postings_config;
