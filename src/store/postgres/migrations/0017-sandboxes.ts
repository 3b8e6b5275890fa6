// Schema version 17: the tables of SQLite's version of the same number. A migration that has shipped is never edited.
//
// What differs: texts sort by bytes, as in SQLite. `active_counts` counts by worker, because a count of rows would grow with
// them, and this server's sandboxes in slots, so that concurrent writers rarely wait for each other's commit; only sums count. Events are written to `outbox` without an id and numbered afterwards
// (docs/design/postgres.md#events). `change` and `eid` identify the write that made a row, so that its repetition
// recognizes it.
export const SANDBOXES = `
CREATE TABLE schema_facts (
  one integer NOT NULL PRIMARY KEY CHECK (one = 1),
  version integer NOT NULL,
  works_with integer NOT NULL,
  program text NOT NULL,
  migrated_at text NOT NULL
);

CREATE TABLE confirmations (
  one integer NOT NULL PRIMARY KEY CHECK (one = 1),
  count bigint NOT NULL
);
INSERT INTO confirmations (one, count) VALUES (1, 0);

CREATE TABLE finished_writes (
  token text NOT NULL PRIMARY KEY,
  result jsonb,
  finished_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX finished_writes_by_age ON finished_writes (finished_at);

CREATE TABLE instance (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  key text NOT NULL,
  created_at text COLLATE "C" NOT NULL
);

CREATE TABLE sandboxes (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  epoch bigint NOT NULL,
  state text COLLATE "C" NOT NULL,
  provider text COLLATE "C" NOT NULL,
  image text NOT NULL,
  memory_mb bigint NOT NULL,
  vcpus bigint NOT NULL,
  network text NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  expires_at text COLLATE "C" NOT NULL,
  metadata text NOT NULL,
  env text NOT NULL,
  worker_id text COLLATE "C" NOT NULL,
  owner_id text COLLATE "C",
  runtime_id text,
  ended_at text COLLATE "C",
  end_reason text,
  template text COLLATE "C",
  vm_id text COLLATE "C",
  uid bigint,
  warnings text NOT NULL DEFAULT '[]',
  created_by text,
  ended_by text,
  replica_id text COLLATE "C",
  change text NOT NULL DEFAULT ''
);

CREATE INDEX sandboxes_by_age ON sandboxes (created_at, id);
CREATE INDEX sandboxes_by_state ON sandboxes (state, created_at, id);
CREATE INDEX sandboxes_by_owner ON sandboxes (owner_id, created_at, id);
CREATE INDEX sandboxes_active ON sandboxes (created_at, id)
  WHERE state IN ('creating', 'running', 'unhealthy', 'destroying');
CREATE INDEX sandboxes_by_deadline ON sandboxes (expires_at, id)
  WHERE state IN ('creating', 'running', 'unhealthy');
CREATE INDEX sandboxes_by_end ON sandboxes (ended_at)
  WHERE state IN ('destroyed', 'error');
CREATE INDEX sandboxes_active_by_owner ON sandboxes (owner_id)
  WHERE state IN ('creating', 'running', 'unhealthy', 'destroying');
CREATE INDEX sandboxes_by_vm ON sandboxes (vm_id)
  WHERE vm_id IS NOT NULL AND state IN ('creating', 'running', 'unhealthy', 'destroying');
CREATE INDEX sandboxes_remote ON sandboxes (worker_id, provider)
  WHERE worker_id <> 'local' AND state IN ('creating', 'running', 'unhealthy', 'destroying');
CREATE INDEX sandboxes_ended_by_owner ON sandboxes (owner_id, ended_at)
  WHERE state IN ('destroyed', 'error');

CREATE TABLE active_counts (
  provider text COLLATE "C" NOT NULL,
  worker_id text COLLATE "C" NOT NULL,
  slot integer NOT NULL,
  active bigint NOT NULL,
  PRIMARY KEY (provider, worker_id, slot)
) WITH (fillfactor = 50);

CREATE FUNCTION svc_count_sandbox() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  counted sandboxes := CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
  was integer := CASE TG_OP WHEN 'INSERT' THEN 0 ELSE (OLD.state NOT IN ('destroyed', 'error'))::integer END;
  is_now integer := CASE TG_OP WHEN 'DELETE' THEN 0 ELSE (NEW.state NOT IN ('destroyed', 'error'))::integer END;
BEGIN
  IF was <> is_now THEN
    INSERT INTO active_counts (provider, worker_id, slot, active)
      VALUES (counted.provider, counted.worker_id,
        CASE counted.worker_id WHEN 'local' THEN pg_backend_pid() % 16 ELSE 0 END, is_now - was)
      ON CONFLICT (provider, worker_id, slot) DO UPDATE SET active = active_counts.active + excluded.active;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER sandboxes_count_change AFTER INSERT OR DELETE ON sandboxes
  FOR EACH ROW EXECUTE FUNCTION svc_count_sandbox();
CREATE TRIGGER sandboxes_count_update AFTER UPDATE OF state ON sandboxes
  FOR EACH ROW EXECUTE FUNCTION svc_count_sandbox();
`;
