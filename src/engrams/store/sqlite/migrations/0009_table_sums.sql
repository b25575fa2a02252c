-- Sums of the hashes of all rows by table: a change of another program beside the memories is noticed.
CREATE TABLE table_sums (
    id INTEGER PRIMARY KEY CHECK (id = 0),
    sums BLOB NOT NULL,
    seal BLOB NOT NULL
) STRICT;
