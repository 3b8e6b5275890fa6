// The fingerprint of the secret that a worker of this machine made itself: while the worker lives, nobody else gets its id.
export const WORKER_SECRETS = `
ALTER TABLE workers ADD COLUMN secret_print text;

-- Returns 'heard', 'full' (no capacity for a new worker) or 'taken' (claimed with another secret since silent_since). Without
-- print it claims nothing.
CREATE FUNCTION svc_heartbeat_16(worker text, body jsonb, at text, most bigint, print text, silent_since text)
  RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF print IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock(4, 1);
    IF EXISTS (SELECT 1 FROM workers w
        WHERE w.id = worker AND w.secret_print <> print AND w.last_heartbeat > silent_since) THEN
      RETURN 'taken';
    END IF;
  END IF;
  IF NOT svc_heartbeat_15(worker, body, at, most) THEN RETURN 'full'; END IF;
  IF print IS NOT NULL THEN UPDATE workers SET secret_print = print WHERE id = worker; END IF;
  RETURN 'heard';
END $$;
`;
