// What an audited call changed, so that the records of one sandbox are one query, and which records come with every
// sandbox: only the newest of those are kept.
export const AUDIT_TARGETS = `
ALTER TABLE audit ADD COLUMN target TEXT;
ALTER TABLE audit ADD COLUMN frequent INTEGER NOT NULL DEFAULT 0;
CREATE INDEX audit_by_target ON audit (target, created_at, id) WHERE target IS NOT NULL;
CREATE INDEX audit_frequent ON audit (id) WHERE frequent = 1;
`;
