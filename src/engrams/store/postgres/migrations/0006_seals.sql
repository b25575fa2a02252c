-- What a row says of its memory is sealed: a change behind the back of engrams is noticed.
ALTER TABLE records ADD COLUMN seal bytea NOT NULL DEFAULT '';

-- How many rows an owner has, and the sum of hashes of their seals: a row that is taken away is noticed.
ALTER TABLE owners ADD COLUMN total bigint NOT NULL DEFAULT 0, ADD COLUMN sum bytea NOT NULL DEFAULT '',
    ADD COLUMN seal bytea NOT NULL DEFAULT '';
