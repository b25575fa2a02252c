-- Small states of owners, each changed by compare and swap: learned, profile, garden.
CREATE TABLE owner_state (
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    token INTEGER NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (owner, name)
) STRICT, WITHOUT ROWID;

-- They were rows among the sessions, under names that no session could have.
INSERT INTO owner_state (owner, name, token, data)
SELECT owner, substr(id, 2), token, data FROM sessions WHERE id IN (':learned', ':profile', ':garden');
DELETE FROM sessions WHERE id IN (':learned', ':profile', ':garden');
