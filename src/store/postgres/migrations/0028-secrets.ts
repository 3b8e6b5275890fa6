// Schema version 28: secrets sealed with a key that is not in the database.
export const SECRETS = `
CREATE TABLE secrets (
  name text COLLATE "C" NOT NULL PRIMARY KEY,
  facts text COLLATE "C" NOT NULL,
  sealed text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  updated_at text COLLATE "C" NOT NULL
);
`;
