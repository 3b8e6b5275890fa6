// Shares of owners in the stored rows: indexes that count the rows of each, and the owners whose events were removed
// early. An empty owner stands for none.
export const SHARES = `
CREATE INDEX events_by_owner ON events (owner_id, id);
CREATE INDEX sandboxes_ended_by_owner ON sandboxes (owner_id, ended_at)
  WHERE state IN ('destroyed', 'error');

CREATE TABLE event_gaps (
  owner_id TEXT NOT NULL PRIMARY KEY,
  through INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`;
