// Templates belong to an owner, or to nobody: those are shared, and so are all that were there before. A shared one has
// an empty owner, which is not a valid name, because a primary key of SQLite holds any number of rows that are NULL in it.
export const TEMPLATE_OWNERS = `
DROP INDEX templates_by_age;
ALTER TABLE templates RENAME TO templates_of_all;

CREATE TABLE templates (
  owner_id TEXT NOT NULL,
  name TEXT NOT NULL,
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
  updated_at TEXT NOT NULL,
  PRIMARY KEY (owner_id, name)
) STRICT;

INSERT INTO templates (owner_id, name, description, version, image, provider, memory_mb, vcpus, ttl, network, metadata,
    env, setup, prewarm, created_at, updated_at)
  SELECT '', name, description, version, image, provider, memory_mb, vcpus, ttl, network, metadata, env, setup, prewarm,
    created_at, updated_at
  FROM templates_of_all;

DROP TABLE templates_of_all;

CREATE INDEX templates_by_age ON templates (created_at, name, owner_id);
`;
