// Schema version 24: the time that the processes on the database agree on.
export const SHARED_TIME = `
CREATE TABLE shared_time (
  one smallint PRIMARY KEY CHECK (one = 1),
  offset_ms double precision NOT NULL,
  stored_ms double precision NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
INSERT INTO shared_time VALUES (1, 0, 0);
`;
