// Schema version 21: the processes that share the database, and their roles.
export const ROLES = `
CREATE TABLE replicas (
  id text COLLATE "C" PRIMARY KEY,
  url text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  config_print text COLLATE "C" NOT NULL,
  started_at text COLLATE "C" NOT NULL,
  beats bigint NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

CREATE TABLE roles (
  name text COLLATE "C" PRIMARY KEY,
  -- Null: nobody has it.
  holder text COLLATE "C",
  beats bigint NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
INSERT INTO roles (name, beats) VALUES ('upkeep', 0), ('desk', 0), ('warm', 0);
`;
