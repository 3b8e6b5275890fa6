// Named keys, and the counter that says that one of them changed. Only hashes are kept. Names are unique among the keys
// that are not revoked.
export const KEYS = `
CREATE TABLE keys (
  id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  hash TEXT NOT NULL UNIQUE,
  previous_hash TEXT,
  previous_until TEXT,
  prefix TEXT NOT NULL,
  owner_id TEXT,
  scopes TEXT NOT NULL,
  created_at TEXT NOT NULL,
  created_by TEXT NOT NULL,
  expires_at TEXT,
  last_used_at TEXT,
  rotated_at TEXT,
  revoked_at TEXT,
  revoked_by TEXT
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX keys_by_name ON keys (name) WHERE revoked_at IS NULL;
CREATE INDEX keys_by_owner ON keys (owner_id) WHERE revoked_at IS NULL AND owner_id IS NOT NULL;
CREATE INDEX keys_by_age ON keys (created_at, id);

CREATE TABLE key_changes (
  one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  changes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO key_changes (one, changes) VALUES (1, 0);
`;
