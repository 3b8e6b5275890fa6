// Templates, the template of each sandbox, and the prewarmed sandboxes kept for templates. `metadata` and `env` are
// pairs as in sandboxes; `setup` and `warnings` are JSON arrays of text. A prewarmed sandbox is not a row of
// `sandboxes` until a spawn takes it: lists, counts and deadlines cannot see it.
export const TEMPLATES = `
CREATE TABLE templates (
  name TEXT NOT NULL PRIMARY KEY,
  description TEXT,
  version INTEGER NOT NULL,
  image TEXT NOT NULL,
  provider TEXT,
  memory_mb INTEGER NOT NULL,
  vcpus INTEGER NOT NULL,
  ttl TEXT NOT NULL,
  network TEXT,
  metadata TEXT NOT NULL,
  env TEXT NOT NULL,
  setup TEXT NOT NULL,
  prewarm INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT;

CREATE INDEX templates_by_age ON templates (created_at, name);

ALTER TABLE sandboxes ADD COLUMN template TEXT;

CREATE TABLE warm_sandboxes (
  id TEXT NOT NULL PRIMARY KEY,
  epoch INTEGER NOT NULL,
  state TEXT NOT NULL,
  template TEXT NOT NULL,
  shape TEXT NOT NULL,
  provider TEXT NOT NULL,
  image TEXT NOT NULL,
  memory_mb INTEGER NOT NULL,
  vcpus INTEGER NOT NULL,
  network TEXT NOT NULL,
  runtime_id TEXT,
  warnings TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;
`;
