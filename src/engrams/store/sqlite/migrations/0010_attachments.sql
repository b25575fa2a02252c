-- Files of documents that count in an owner's quota. A file is reserved before memory tells of it, and kept once it is written.
CREATE TABLE attachments (
    owner TEXT NOT NULL,
    digest TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    reserved_at INTEGER NOT NULL,
    PRIMARY KEY (owner, digest)
) STRICT, WITHOUT ROWID;
