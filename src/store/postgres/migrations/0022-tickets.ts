// Schema version 22: spawns that wait. `svc_reserve_22` is `svc_reserve_19` that also ends a ticket and gives its owner a new turn.
// Tickets and turns take their numbers from one sequence: an owner without tickets has its turn behind all others.
//
// Each function reads again after a lock: a statement that waited for one sees other rows as they were before.
const TICKETS_TABLE = `
CREATE SEQUENCE ticket_numbers;

CREATE TABLE tickets (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  seq bigint NOT NULL,
  owner_id text COLLATE "C" NOT NULL,
  provider text COLLATE "C" NOT NULL,
  demand text COLLATE "C",
  scope text COLLATE "C",
  key text COLLATE "C",
  fingerprint text,
  spawn text NOT NULL,
  home text COLLATE "C" NOT NULL,
  -- Null while it waits.
  outcome text
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX tickets_waiting ON tickets (seq) WHERE outcome IS NULL;
CREATE INDEX tickets_by_owner ON tickets (owner_id, seq) WHERE outcome IS NULL;
CREATE INDEX tickets_by_home ON tickets (home);
CREATE UNIQUE INDEX tickets_by_key ON tickets (scope, key) WHERE outcome IS NULL;

CREATE TABLE ticket_owners (
  owner_id text COLLATE "C" NOT NULL PRIMARY KEY,
  turn bigint NOT NULL,
  -- 'owner', or 'room ' and its name; null: unknown.
  lack text COLLATE "C"
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
`;

const TICKET_FUNCTIONS = `
CREATE FUNCTION svc_add_ticket_22(record jsonb, most bigint)
  RETURNS TABLE (kind text, depth bigint, crowded_id text, crowded_home text) LANGUAGE plpgsql AS $$
DECLARE
  made tickets := jsonb_populate_record(NULL::tickets, record);
  crowder text;
  crowd bigint;
BEGIN
  IF made.key IS NOT NULL THEN PERFORM pg_advisory_xact_lock(2, hashtext(made.scope || chr(1) || made.key)); END IF;
  SELECT count(*) INTO depth FROM tickets t WHERE t.outcome IS NULL;
  kind := 'added';
  IF EXISTS (SELECT 1 FROM tickets t WHERE t.id = made.id) THEN
    RETURN NEXT;
    RETURN;
  END IF;
  IF EXISTS (SELECT 1 FROM tickets t WHERE t.scope = made.scope AND t.key = made.key AND t.outcome IS NULL) THEN
    kind := 'key_taken';
    RETURN NEXT;
    RETURN;
  END IF;
  IF depth >= most THEN
    SELECT t.owner_id, count(*) INTO crowder, crowd FROM tickets t WHERE t.outcome IS NULL AND t.owner_id <> ''
      GROUP BY t.owner_id ORDER BY count(*) DESC, min(t.seq) LIMIT 1;
    IF crowder IS NULL OR crowd <= 1 +
        (SELECT count(*) FROM tickets t WHERE t.outcome IS NULL AND t.owner_id = made.owner_id) THEN
      kind := 'full';
      RETURN NEXT;
      RETURN;
    END IF;
    UPDATE tickets AS t SET outcome = '{"kind":"crowded_out"}' WHERE t.outcome IS NULL AND t.id =
        (SELECT n.id FROM tickets n WHERE n.owner_id = crowder AND n.outcome IS NULL ORDER BY n.seq DESC LIMIT 1)
      RETURNING t.id, t.home INTO crowded_id, crowded_home;
    depth := depth - 1;
  END IF;
  made.seq := nextval('ticket_numbers');
  INSERT INTO ticket_owners (owner_id, turn) VALUES (made.owner_id, made.seq)
    ON CONFLICT (owner_id) DO UPDATE SET turn = excluded.turn, lack = NULL
      WHERE NOT EXISTS (SELECT 1 FROM tickets t WHERE t.owner_id = excluded.owner_id AND t.outcome IS NULL);
  INSERT INTO tickets (id, seq, owner_id, provider, demand, scope, key, fingerprint, spawn, home)
    VALUES (made.id, made.seq, made.owner_id, made.provider, made.demand, made.scope, made.key, made.fingerprint,
      made.spawn, made.home);
  depth := depth + 1;
  RETURN NEXT;
END $$;

-- Returns how it ended; null: nothing waits any more.
CREATE FUNCTION svc_remove_ticket_22(ticket text, of_home text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM tickets t WHERE t.id = ticket AND t.home = of_home AND t.outcome IS NULL;
  RETURN (SELECT t.outcome FROM tickets t WHERE t.id = ticket AND t.home = of_home);
END $$;

CREATE FUNCTION svc_reserve_22(wish jsonb, token text, again boolean)
  RETURNS TABLE (kind text, worker_id text, sandbox_id text, fingerprint text, response text, turn bigint)
  LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  ticket tickets;
BEGIN
  IF wish->'ticket' IS NOT NULL THEN
    SELECT * INTO ticket FROM tickets t
      WHERE t.id = wish->'ticket'->>'id' AND t.home = wish->'ticket'->>'home' AND t.outcome IS NULL FOR UPDATE;
    IF NOT FOUND AND NOT (again AND EXISTS (
        SELECT 1 FROM sandboxes s WHERE s.id = wish->'row'->>'id' AND s.change = token)) THEN
      RETURN QUERY SELECT 'no_ticket', NULL::text, NULL::text, NULL::text, NULL::text, NULL::bigint;
      RETURN;
    END IF;
  END IF;
  SELECT r.kind, r.worker_id, r.sandbox_id, r.fingerprint, r.response
    INTO kind, worker_id, sandbox_id, fingerprint, response FROM svc_reserve_19(wish, token, again) r;
  IF kind = 'reserved' AND ticket.id IS NOT NULL THEN
    turn := nextval('ticket_numbers');
    UPDATE tickets SET outcome = jsonb_build_object('kind', 'admitted', 'sandbox_id', sandbox_id)::text
      WHERE id = ticket.id;
    INSERT INTO ticket_owners (owner_id, turn) VALUES (ticket.owner_id, turn)
      ON CONFLICT (owner_id) DO UPDATE SET turn = excluded.turn, lack = NULL;
  ELSIF kind = 'reserved' AND wish->'ticket' IS NOT NULL THEN
    turn := (SELECT o.turn FROM tickets t JOIN ticket_owners o ON o.owner_id = t.owner_id
      WHERE t.id = wish->'ticket'->>'id');
  END IF;
  RETURN NEXT;
END $$;
`;

export const TICKETS = `${TICKETS_TABLE}${TICKET_FUNCTIONS}`;
