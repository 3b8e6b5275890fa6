// Sessions of the console. Only hashes of their tokens are kept.
export const SESSIONS = `
CREATE TABLE sessions (
  id TEXT NOT NULL PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  parent TEXT NOT NULL,
  actor TEXT NOT NULL,
  owner_id TEXT,
  scopes TEXT NOT NULL,
  created_at TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  ends_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
`;
