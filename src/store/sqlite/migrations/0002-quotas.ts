// Schema version 2: owner quotas, and the index that counts an owner's sandboxes without reading their rows.
// Durations are canonical text, `0s` inherits.
export const QUOTAS = `
CREATE TABLE owner_quotas (
  owner_id TEXT NOT NULL PRIMARY KEY,
  max_sandboxes INTEGER NOT NULL,
  max_ttl TEXT NOT NULL,
  max_exec_timeout TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX owner_quotas_by_age ON owner_quotas (created_at, owner_id);

CREATE INDEX sandboxes_active_by_owner ON sandboxes (owner_id)
  WHERE state IN ('creating', 'running', 'unhealthy', 'destroying');
`;
