-- Groups of memories that are about the same, one scope's each; who belongs to which is told by edges of the type in_topic.
CREATE TABLE topics (
    owner TEXT NOT NULL,
    id TEXT NOT NULL,
    scope TEXT NOT NULL,
    label TEXT NOT NULL,
    named INTEGER NOT NULL,
    members INTEGER NOT NULL,
    model TEXT NOT NULL,
    centroid BLOB NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (owner, id)
) STRICT, WITHOUT ROWID;
