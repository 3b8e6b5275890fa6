// Workers, and leases of those that are not this server. A lease goes with the end of its sandbox, in that transaction.
// `sandboxes_remote` counts the sandboxes of a worker; it is empty where this server runs all.
export const WORKERS = `
CREATE TABLE workers (
  id TEXT NOT NULL PRIMARY KEY,
  hostname TEXT NOT NULL,
  status TEXT NOT NULL,
  providers TEXT NOT NULL,
  capabilities TEXT NOT NULL,
  max_sandboxes INTEGER NOT NULL,
  memory_mb INTEGER NOT NULL,
  vcpus INTEGER NOT NULL,
  rpc_url TEXT,
  version TEXT,
  last_heartbeat TEXT NOT NULL,
  drain INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT;

CREATE TABLE leases (
  resource_id TEXT NOT NULL PRIMARY KEY,
  holder_id TEXT NOT NULL,
  generation INTEGER NOT NULL,
  expires_at TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;
CREATE INDEX leases_by_end ON leases (expires_at, resource_id);

CREATE INDEX sandboxes_remote ON sandboxes (worker_id, provider)
  WHERE worker_id <> 'local' AND state IN ('creating', 'running', 'unhealthy', 'destroying');

CREATE TRIGGER sandboxes_release AFTER UPDATE OF state ON sandboxes
  WHEN new.worker_id <> 'local' AND new.state IN ('destroyed', 'error')
BEGIN
  DELETE FROM leases WHERE resource_id = new.id;
END;
`;
