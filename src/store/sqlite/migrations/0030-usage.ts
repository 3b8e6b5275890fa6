// The ledger of use. Triggers open and end its rows in the transaction of the sandbox, so that no crash loses one.
const AMOUNTS = `
  sandbox_ms INTEGER NOT NULL DEFAULT 0,
  vcpu_ms INTEGER NOT NULL DEFAULT 0,
  memory_mb_ms INTEGER NOT NULL DEFAULT 0,
  cpu_us INTEGER NOT NULL DEFAULT 0,
  used_mb_ms INTEGER NOT NULL DEFAULT 0,
  rx_bytes INTEGER NOT NULL DEFAULT 0,
  tx_bytes INTEGER NOT NULL DEFAULT 0,
  execs INTEGER NOT NULL DEFAULT 0,
  exec_ms INTEGER NOT NULL DEFAULT 0`;

const OPEN =
  'INSERT OR IGNORE INTO usage_sandboxes (sandbox_id, owner_id, provider, template, vcpus, memory_mb, started_at, metered_to, claimed)';
const FACTS =
  "new.id, coalesce(new.owner_id, ''), new.provider, coalesce(new.template, ''), new.vcpus, new.memory_mb, new.created_at, new.created_at";

export const USAGE = `
CREATE TABLE usage_sandboxes (
  sandbox_id TEXT NOT NULL PRIMARY KEY,
  owner_id TEXT NOT NULL,
  provider TEXT NOT NULL,
  template TEXT NOT NULL,
  vcpus INTEGER NOT NULL,
  memory_mb INTEGER NOT NULL,
  started_at TEXT NOT NULL,
  ended_at TEXT,
  claimed INTEGER NOT NULL DEFAULT 0,
  settled INTEGER NOT NULL DEFAULT 0,
  version INTEGER NOT NULL DEFAULT 0,
  metered_to TEXT NOT NULL,
  counter TEXT,
  sampled_at TEXT,
  last_cpu_us INTEGER NOT NULL DEFAULT 0,
  last_rx_bytes INTEGER NOT NULL DEFAULT 0,
  last_tx_bytes INTEGER NOT NULL DEFAULT 0,
  last_oom_kills INTEGER NOT NULL DEFAULT 0,
  peak_memory_bytes INTEGER NOT NULL DEFAULT 0,
  oom_kills INTEGER NOT NULL DEFAULT 0,
  estimated INTEGER NOT NULL DEFAULT 0,${AMOUNTS}
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_sandboxes_by_owner ON usage_sandboxes (owner_id, started_at, sandbox_id);
CREATE INDEX usage_sandboxes_open ON usage_sandboxes (sandbox_id) WHERE settled = 0;
CREATE INDEX usage_sandboxes_ended ON usage_sandboxes (ended_at) WHERE settled = 1;

CREATE TABLE usage_hours (
  owner_id TEXT NOT NULL,
  hour INTEGER NOT NULL,
  provider TEXT NOT NULL,
  template TEXT NOT NULL,
  sandboxes INTEGER NOT NULL DEFAULT 0,${AMOUNTS},
  PRIMARY KEY (owner_id, hour, provider, template)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_hours_by_hour ON usage_hours (hour);

CREATE TABLE usage_state (one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1), complete_until TEXT NOT NULL) STRICT;

CREATE TRIGGER usage_begins AFTER UPDATE OF state ON sandboxes WHEN new.state = 'running'
BEGIN
  ${OPEN} VALUES (${FACTS}, 0);
END;

CREATE TRIGGER usage_claimed AFTER INSERT ON sandboxes WHEN new.state = 'running'
BEGIN
  ${OPEN} VALUES (${FACTS}, 1);
END;

CREATE TRIGGER usage_ends AFTER UPDATE OF ended_at ON sandboxes WHEN new.ended_at IS NOT NULL
BEGIN
  UPDATE usage_sandboxes SET ended_at = new.ended_at WHERE sandbox_id = new.id AND ended_at IS NULL;
END;

INSERT INTO usage_sandboxes (sandbox_id, owner_id, provider, template, vcpus, memory_mb, started_at, metered_to)
  SELECT id, coalesce(owner_id, ''), provider, coalesce(template, ''), vcpus, memory_mb, created_at, created_at
    FROM sandboxes WHERE state IN ('running', 'unhealthy');
`;
