// Schema version 18: labels of workers, and what templates demand of the workers of their sandboxes.
//
// The functions follow those of version 17, which processes of the program before still call: without the new columns, which
// then keep their values or take their defaults.
const TEMPLATES = `owner_id, name, version, description, image, provider, memory_mb, vcpus, ttl, network, worker_id,
  worker_labels, metadata, env, setup, prewarm, created_at, updated_at`;

export const WORKER_LABELS = `
ALTER TABLE workers ADD COLUMN labels text NOT NULL DEFAULT '{}';
ALTER TABLE templates ADD COLUMN worker_id text COLLATE "C";
ALTER TABLE templates ADD COLUMN worker_labels text NOT NULL DEFAULT '{}';

-- Returns 'heard', 'full' or 'taken', as svc_claimed_heartbeat_17 does. What the body omits stays.
CREATE FUNCTION svc_claimed_heartbeat_18(worker text, body jsonb, at text, most bigint, print text, silent_since text)
  RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  kind text := svc_claimed_heartbeat_17(worker, body, at, most, print, silent_since);
BEGIN
  IF kind = 'heard' AND body->>'labels' IS NOT NULL THEN
    UPDATE workers SET labels = body->>'labels' WHERE id = worker AND labels <> body->>'labels';
  END IF;
  RETURN kind;
END $$;

CREATE FUNCTION svc_create_template_18(record jsonb, most bigint, most_of_owner bigint, token text, again boolean)
  RETURNS TABLE (kind text, present bigint, of_owner bigint) LANGUAGE plpgsql AS $$
DECLARE
  made templates := jsonb_populate_record(NULL::templates, record);
BEGIN
  PERFORM pg_advisory_xact_lock(7, 0);
  IF again AND svc_finished_17(token) THEN
    RETURN QUERY SELECT 'created', 0::bigint, 0::bigint;
    RETURN;
  END IF;
  IF EXISTS (SELECT 1 FROM templates t WHERE t.name = made.name AND t.owner_id IN (made.owner_id, '')) THEN
    RETURN QUERY SELECT 'taken', 0::bigint, 0::bigint;
    RETURN;
  END IF;
  SELECT count(*), count(*) FILTER (WHERE t.owner_id = made.owner_id) INTO present, of_owner
    FROM templates t WHERE (t.owner_id = '') = (made.owner_id = '');
  kind := 'full';
  IF present < most AND (made.owner_id = '' OR of_owner < most_of_owner) THEN
    kind := 'created';
    INSERT INTO templates (${TEMPLATES}) SELECT ${TEMPLATES} FROM jsonb_populate_record(NULL::templates, record);
    PERFORM svc_finish_17(token);
  END IF;
  RETURN NEXT;
END $$;

CREATE FUNCTION svc_replace_template_18(record jsonb, versions jsonb, token text, again boolean)
  RETURNS TABLE (kind text, stale_version bigint, owner_id text, name text, version bigint, description text, image text,
    provider text, memory_mb bigint, vcpus bigint, ttl text, network text, worker_id text, worker_labels text,
    metadata text, env text, setup text, prewarm bigint, created_at text, updated_at text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  made templates := jsonb_populate_record(NULL::templates, record);
BEGIN
  SELECT t.version INTO stale_version FROM templates t
    WHERE t.owner_id = made.owner_id AND t.name = made.name FOR UPDATE;
  kind := 'replaced';
  IF NOT FOUND THEN
    kind := 'absent';
  ELSIF NOT (again AND svc_finished_17(token)) THEN
    IF versions <> 'null'::jsonb AND NOT versions @> to_jsonb(stale_version) THEN
      kind := 'stale';
    ELSE
      UPDATE templates AS t SET description = made.description, image = made.image, provider = made.provider,
          memory_mb = made.memory_mb, vcpus = made.vcpus, ttl = made.ttl, network = made.network,
          worker_id = made.worker_id, worker_labels = made.worker_labels,
          metadata = made.metadata, env = made.env, setup = made.setup, prewarm = made.prewarm,
          version = t.version + 1, updated_at = made.updated_at
        WHERE t.owner_id = made.owner_id AND t.name = made.name;
      PERFORM svc_finish_17(token);
    END IF;
  END IF;
  RETURN QUERY SELECT kind, stale_version, t.owner_id, t.name, t.version, t.description, t.image, t.provider, t.memory_mb,
      t.vcpus, t.ttl, t.network, t.worker_id, t.worker_labels, t.metadata, t.env, t.setup, t.prewarm, t.created_at,
      t.updated_at
    FROM (SELECT 1) AS one LEFT JOIN templates t ON t.owner_id = made.owner_id AND t.name = made.name;
END $$;
`;
