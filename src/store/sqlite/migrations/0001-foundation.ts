// Schema version 1. A migration that has shipped is never edited: what changes later is a file of its own.
// `metadata` and `env` are JSON arrays of [key, value] pairs, so that hostile keys stay data (rows.ts).
// `active_counts` is kept by triggers, so no statement can forget it; it can be rebuilt from the rows.
export const FOUNDATION = `
CREATE TABLE instance (
  id TEXT NOT NULL PRIMARY KEY,
  key TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;

CREATE TABLE sandboxes (
  id TEXT NOT NULL PRIMARY KEY,
  epoch INTEGER NOT NULL,
  state TEXT NOT NULL,
  provider TEXT NOT NULL,
  image TEXT NOT NULL,
  memory_mb INTEGER NOT NULL,
  vcpus INTEGER NOT NULL,
  network TEXT NOT NULL,
  created_at TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  metadata TEXT NOT NULL,
  env TEXT NOT NULL,
  worker_id TEXT NOT NULL,
  owner_id TEXT,
  runtime_id TEXT,
  ended_at TEXT,
  end_reason TEXT
) STRICT;

CREATE INDEX sandboxes_by_age ON sandboxes (created_at, id);
CREATE INDEX sandboxes_by_state ON sandboxes (state, created_at, id);
CREATE INDEX sandboxes_by_owner ON sandboxes (owner_id, created_at, id);
CREATE INDEX sandboxes_active ON sandboxes (created_at, id)
  WHERE state IN ('creating', 'running', 'unhealthy', 'destroying');
CREATE INDEX sandboxes_by_deadline ON sandboxes (expires_at, id)
  WHERE state IN ('creating', 'running', 'unhealthy');
CREATE INDEX sandboxes_by_end ON sandboxes (ended_at)
  WHERE state IN ('destroyed', 'error');

CREATE TABLE active_counts (
  provider TEXT NOT NULL PRIMARY KEY,
  active INTEGER NOT NULL CHECK (active >= 0)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER sandboxes_count_insert AFTER INSERT ON sandboxes
BEGIN
  INSERT INTO active_counts (provider, active) VALUES (new.provider, new.state NOT IN ('destroyed', 'error'))
    ON CONFLICT (provider) DO UPDATE SET active = active + excluded.active;
END;

CREATE TRIGGER sandboxes_count_update AFTER UPDATE OF state ON sandboxes
BEGIN
  UPDATE active_counts
    SET active = active - (old.state NOT IN ('destroyed', 'error')) + (new.state NOT IN ('destroyed', 'error'))
    WHERE provider = new.provider;
END;

CREATE TRIGGER sandboxes_count_delete AFTER DELETE ON sandboxes
BEGIN
  UPDATE active_counts SET active = active - (old.state NOT IN ('destroyed', 'error'))
    WHERE provider = old.provider;
END;

CREATE TABLE events (
  id INTEGER NOT NULL PRIMARY KEY,
  type TEXT NOT NULL,
  timestamp TEXT NOT NULL,
  sandbox_id TEXT,
  owner_id TEXT,
  data TEXT
) STRICT;

CREATE TABLE event_ids (
  reserved_through INTEGER NOT NULL
) STRICT;
INSERT INTO event_ids (reserved_through) VALUES (0);

CREATE TABLE idempotency (
  scope TEXT NOT NULL,
  key TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  sandbox_id TEXT NOT NULL,
  response TEXT,
  created_at TEXT NOT NULL,
  PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_by_sandbox ON idempotency (sandbox_id);
CREATE INDEX idempotency_by_age ON idempotency (created_at);
`;
