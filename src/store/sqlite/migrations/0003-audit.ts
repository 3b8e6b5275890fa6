// Schema version 3: the audit of admin calls. AUTOINCREMENT, so that the id of a deleted record is never given again.
export const AUDIT = `
CREATE TABLE audit (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  actor TEXT NOT NULL,
  user_id TEXT,
  method TEXT NOT NULL,
  path TEXT NOT NULL,
  status INTEGER NOT NULL,
  duration_ms REAL NOT NULL,
  request_id TEXT NOT NULL,
  remote_addr TEXT NOT NULL,
  user_agent TEXT,
  created_at TEXT NOT NULL
) STRICT;

CREATE INDEX audit_by_age ON audit (created_at, id);
CREATE INDEX audit_unproven ON audit (created_at, id) WHERE actor IN ('none', 'anonymous');
`;
