// Schema version 31: which sandbox has which runtime of a service that names them. The function reads again after it waited for
// another row: a statement sees the rows from before.
export const RUNTIMES = `
CREATE TABLE held_runtimes (
  provider text COLLATE "C" NOT NULL,
  runtime_id text COLLATE "C" NOT NULL,
  sandbox_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (provider, runtime_id)
);
CREATE INDEX held_runtimes_by_sandbox ON held_runtimes (sandbox_id);

CREATE FUNCTION svc_lives_31(one text) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT 1 FROM sandboxes WHERE id = one AND ended_at IS NULL)
    OR EXISTS (SELECT 1 FROM warm_sandboxes WHERE id = one)
$$;

CREATE FUNCTION svc_assign_runtime_31(kind text, name text, sandbox text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  holder text;
BEGIN
  LOOP
    INSERT INTO held_runtimes (provider, runtime_id, sandbox_id) VALUES (kind, name, sandbox) ON CONFLICT DO NOTHING;
    IF FOUND THEN RETURN sandbox; END IF;
    SELECT sandbox_id INTO holder FROM held_runtimes WHERE provider = kind AND runtime_id = name FOR UPDATE;
    -- Released in between.
    CONTINUE WHEN NOT FOUND;
    IF holder = sandbox OR svc_lives_31(holder) THEN RETURN holder; END IF;
    UPDATE held_runtimes SET sandbox_id = sandbox WHERE provider = kind AND runtime_id = name;
    RETURN sandbox;
  END LOOP;
END $$;
`;
