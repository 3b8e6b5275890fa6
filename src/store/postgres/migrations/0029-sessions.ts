// Schema version 29: sessions of the console. Only hashes of their tokens are kept.
export const SESSIONS = `
CREATE TABLE sessions (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  hash text COLLATE "C" NOT NULL UNIQUE,
  parent text COLLATE "C" NOT NULL,
  actor text COLLATE "C" NOT NULL,
  owner_id text COLLATE "C",
  scopes text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  expires_at text COLLATE "C" NOT NULL,
  ends_at text COLLATE "C" NOT NULL
);
`;
