// VMs of the pool, and which sandbox is in which. `pool_uids` counts the uids ever given out: see domain/pool.ts.
export const POOL = `
CREATE TABLE pool_vms (
  id TEXT NOT NULL PRIMARY KEY,
  provider TEXT NOT NULL,
  state TEXT NOT NULL,
  image TEXT NOT NULL,
  memory_mb INTEGER NOT NULL,
  vcpus INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  uids_before INTEGER NOT NULL,
  warnings TEXT NOT NULL,
  runtime_id TEXT
) STRICT;

CREATE TABLE pool_uids (
  given INTEGER NOT NULL
) STRICT;
INSERT INTO pool_uids (given) VALUES (0);

ALTER TABLE sandboxes ADD COLUMN vm_id TEXT;
ALTER TABLE sandboxes ADD COLUMN uid INTEGER;
CREATE INDEX sandboxes_by_vm ON sandboxes (vm_id)
  WHERE vm_id IS NOT NULL AND state IN ('creating', 'running', 'unhealthy', 'destroying');
`;
