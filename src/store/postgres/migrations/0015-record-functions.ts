// Functions of schema version 15, continued: everything but sandboxes and events (0015-sandbox-functions.ts).
const LIVE = `('creating', 'running', 'unhealthy', 'destroying')`;
const TEMPLATES = `owner_id, name, description, version, image, provider, memory_mb, vcpus, ttl, network, metadata, env, setup, prewarm,
  created_at, updated_at`;
const KEYS = `id, name, hash, previous_hash, previous_until, prefix, owner_id, scopes, created_at, created_by, expires_at, last_used_at,
  rotated_at, revoked_at, revoked_by`;
const WARM_SANDBOXES = `id, epoch, state, template, shape, provider, image, memory_mb, vcpus, network, runtime_id, warnings, created_at`;

export const RECORD_FUNCTIONS = `
CREATE FUNCTION svc_create_template_15(record jsonb, most bigint, most_of_owner bigint, again boolean)
  RETURNS TABLE (kind text, present bigint, of_owner bigint) LANGUAGE plpgsql AS $$
DECLARE
  made templates := jsonb_populate_record(NULL::templates, record);
BEGIN
  PERFORM pg_advisory_xact_lock(7, 0);
  IF again AND EXISTS (SELECT 1 FROM templates t WHERE t.owner_id = made.owner_id AND t.name = made.name
      AND t.created_at = made.created_at) THEN
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
  END IF;
  RETURN NEXT;
END $$;

CREATE FUNCTION svc_create_key_15(record jsonb, most bigint, most_of_owner bigint, again boolean)
  RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  made keys := jsonb_populate_record(NULL::keys, record);
BEGIN
  PERFORM 1 FROM key_changes FOR UPDATE;
  IF again AND EXISTS (SELECT 1 FROM keys k WHERE k.id = made.id) THEN RETURN 'created'; END IF;
  IF EXISTS (SELECT 1 FROM keys k WHERE k.name = made.name AND k.revoked_at IS NULL) THEN RETURN 'taken'; END IF;
  IF (SELECT count(*) FROM keys k WHERE k.revoked_at IS NULL) >= most THEN RETURN 'full'; END IF;
  IF made.owner_id IS NOT NULL AND most_of_owner <=
      (SELECT count(*) FROM keys k WHERE k.owner_id = made.owner_id AND k.revoked_at IS NULL) THEN
    RETURN 'owner_full';
  END IF;
  INSERT INTO keys (${KEYS}) SELECT ${KEYS} FROM jsonb_populate_record(NULL::keys, record);
  UPDATE key_changes SET changes = changes + 1;
  RETURN 'created';
END $$;

CREATE FUNCTION svc_revoke_key_15(key_id text, at text, by_actor text, kept bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM key_changes FOR UPDATE;
  UPDATE keys SET revoked_at = at, revoked_by = by_actor WHERE id = key_id AND revoked_at IS NULL;
  IF NOT FOUND THEN RETURN; END IF;
  UPDATE key_changes SET changes = changes + 1;
  DELETE FROM keys WHERE id IN (SELECT id FROM keys WHERE revoked_at IS NOT NULL
    ORDER BY revoked_at DESC, id DESC OFFSET kept);
END $$;

CREATE FUNCTION svc_reserve_warm_15(record jsonb, total_cap bigint, provider_cap bigint, again boolean)
  RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  made warm_sandboxes := jsonb_populate_record(NULL::warm_sandboxes, record);
BEGIN
  PERFORM pg_advisory_xact_lock(5, hashtext(made.provider));
  PERFORM pg_advisory_xact_lock(6, 0);
  PERFORM pg_advisory_xact_lock(8, 0);
  IF again AND EXISTS (SELECT 1 FROM warm_sandboxes w WHERE w.id = made.id) THEN RETURN true; END IF;
  IF (total_cap > 0 AND total_cap <= (SELECT coalesce(sum(c.active), 0) FROM active_counts c)
        + (SELECT count(*) FROM warm_sandboxes))
    OR (provider_cap > 0 AND provider_cap <=
        (SELECT coalesce(sum(c.active), 0) FROM active_counts c WHERE c.provider = made.provider)
        + (SELECT count(*) FROM warm_sandboxes w WHERE w.provider = made.provider)) THEN
    RETURN false;
  END IF;
  INSERT INTO warm_sandboxes (${WARM_SANDBOXES}) SELECT ${WARM_SANDBOXES} FROM jsonb_populate_record(NULL::warm_sandboxes, record);
  RETURN true;
END $$;

CREATE FUNCTION svc_heartbeat_15(worker text, body jsonb, at text, most bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  FOR turn IN 1..2 LOOP
    UPDATE workers SET hostname = coalesce(body->>'hostname', hostname), status = coalesce(body->>'status', status),
        providers = coalesce(body->>'providers', providers), capabilities = coalesce(body->>'capabilities', capabilities),
        max_sandboxes = coalesce((body->>'max_sandboxes')::bigint, max_sandboxes),
        memory_mb = coalesce((body->>'memory_mb')::bigint, memory_mb), vcpus = coalesce((body->>'vcpus')::bigint, vcpus),
        version = coalesce(body->>'version', version), rpc_url = nullif(coalesce(body->>'rpc_url', rpc_url), ''),
        last_heartbeat = at, updated_at = at
      WHERE id = worker;
    IF FOUND THEN RETURN true; END IF;
    -- Another process may insert it first: the second turn then updates it.
    IF turn = 1 THEN PERFORM pg_advisory_xact_lock(4, 0); END IF;
  END LOOP;
  IF (SELECT count(*) FROM workers) >= most THEN RETURN false; END IF;
  INSERT INTO workers (id, hostname, status, providers, capabilities, max_sandboxes, memory_mb, vcpus, rpc_url, version,
      last_heartbeat, drain, created_at, updated_at)
    VALUES (worker, coalesce(body->>'hostname', ''), coalesce(body->>'status', 'online'),
      coalesce(body->>'providers', '[]'), coalesce(body->>'capabilities', '[]'),
      coalesce((body->>'max_sandboxes')::bigint, 0), coalesce((body->>'memory_mb')::bigint, 0),
      coalesce((body->>'vcpus')::bigint, 0), nullif(body->>'rpc_url', ''), body->>'version', at, 0, at, at);
  RETURN true;
END $$;

CREATE FUNCTION svc_remove_worker_15(worker text, again boolean) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM workers WHERE id = worker FOR UPDATE;
  IF NOT FOUND THEN RETURN CASE WHEN again THEN 'removed' ELSE 'absent' END; END IF;
  IF EXISTS (SELECT 1 FROM sandboxes WHERE worker_id = worker AND state IN ${LIVE}) THEN RETURN 'busy'; END IF;
  DELETE FROM workers WHERE id = worker;
  RETURN 'removed';
END $$;

CREATE FUNCTION svc_shifted_15(stamp text, shift_ms bigint) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN to_char(stamp::timestamptz AT TIME ZONE 'UTC' + shift_ms * interval '1 millisecond',
    'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
EXCEPTION WHEN data_exception THEN
  -- Stamps outside the calendar stay unchanged.
  RETURN stamp;
END $$;

CREATE FUNCTION svc_set_clock_15(boot text, distance bigint, shift_ms bigint, again boolean)
  RETURNS TABLE (sandboxes bigint, leases bigint, workers bigint, claims bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  PERFORM pg_advisory_xact_lock(9, 1);
  sandboxes := 0; leases := 0; workers := 0; claims := 0;
  IF again AND EXISTS (SELECT 1 FROM clock_mark m WHERE m.boot_id = boot AND m.distance_ms = distance) THEN
    RETURN NEXT;
    RETURN;
  END IF;
  INSERT INTO clock_mark (one, boot_id, distance_ms) VALUES (1, boot, distance)
    ON CONFLICT (one) DO UPDATE SET boot_id = excluded.boot_id, distance_ms = excluded.distance_ms;
  IF shift_ms <> 0 THEN
    UPDATE sandboxes AS s SET expires_at = svc_shifted_15(s.expires_at, shift_ms) WHERE s.state IN ${LIVE};
    GET DIAGNOSTICS sandboxes = ROW_COUNT;
    UPDATE leases AS l SET expires_at = svc_shifted_15(l.expires_at, shift_ms);
    GET DIAGNOSTICS leases = ROW_COUNT;
    UPDATE workers AS w SET last_heartbeat = svc_shifted_15(w.last_heartbeat, shift_ms);
    GET DIAGNOSTICS workers = ROW_COUNT;
    UPDATE idempotency AS i SET created_at = svc_shifted_15(i.created_at, shift_ms);
    GET DIAGNOSTICS claims = ROW_COUNT;
  END IF;
  RETURN NEXT;
END $$;
`;
