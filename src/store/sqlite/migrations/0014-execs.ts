// Commands that ran in sandboxes, as long as the sandbox's row is kept (docs/design/api.md#exec-records).
export const EXECS = `
CREATE TABLE execs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  sandbox_id TEXT NOT NULL,
  exec_id TEXT NOT NULL,
  command TEXT NOT NULL,
  detached INTEGER NOT NULL,
  actor TEXT NOT NULL,
  started_at TEXT NOT NULL,
  ended_at TEXT,
  exit_code INTEGER,
  signal TEXT,
  UNIQUE (sandbox_id, exec_id)
) STRICT;

CREATE TRIGGER execs_of_sandbox AFTER DELETE ON sandboxes
BEGIN
  DELETE FROM execs WHERE sandbox_id = old.id;
END;
`;
