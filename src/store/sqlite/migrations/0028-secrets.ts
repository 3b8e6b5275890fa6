// Secrets sealed with a key that is not in the database.
export const SECRETS = `
CREATE TABLE secrets (
  name TEXT NOT NULL PRIMARY KEY,
  facts TEXT NOT NULL,
  sealed TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
`;
