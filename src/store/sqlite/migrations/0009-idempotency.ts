// Answers are kept beside what finds them. A table without row ids keeps at most a quarter of a page of a row in its tree,
// and gives all else a page of its own: an answer of 1 KB took more than 4 KB.
export const IDEMPOTENCY = `
DROP INDEX idempotency_by_sandbox;
DROP INDEX idempotency_by_age;
ALTER TABLE idempotency RENAME TO idempotency_by_key;

CREATE TABLE idempotency (
  scope TEXT NOT NULL,
  key TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  sandbox_id TEXT NOT NULL,
  response TEXT,
  created_at TEXT NOT NULL,
  PRIMARY KEY (scope, key)
) STRICT;

INSERT INTO idempotency (scope, key, fingerprint, sandbox_id, response, created_at)
  SELECT scope, key, fingerprint, sandbox_id, response, created_at FROM idempotency_by_key;

DROP TABLE idempotency_by_key;

CREATE INDEX idempotency_by_sandbox ON idempotency (sandbox_id);
CREATE INDEX idempotency_by_age ON idempotency (created_at);
`;
