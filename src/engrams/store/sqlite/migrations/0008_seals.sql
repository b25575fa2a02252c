-- What a row says of its memory is bound to the key of the home: a change behind the back of engrams is noticed.
ALTER TABLE records ADD COLUMN seal BLOB NOT NULL DEFAULT x'';

-- How many rows an owner has, and the sum of hashes of their seals: a row that is taken away is noticed.
CREATE TABLE census (
    owner TEXT PRIMARY KEY,
    total INTEGER NOT NULL,
    sum BLOB NOT NULL,
    seal BLOB NOT NULL
) STRICT, WITHOUT ROWID;
