// Functions of schema version 17, continued: prewarmed sandboxes, workers and the clock.
const LIVE = `('creating', 'running', 'unhealthy', 'destroying')`;
const WARM_SANDBOXES = `id, epoch, state, template, shape, provider, image, memory_mb, vcpus, network, runtime_id, warnings, created_at`;

export const FLEET_FUNCTIONS = `
CREATE FUNCTION svc_renew_lease_17(resource text, holder text, until text, token text, again boolean)
  RETURNS SETOF leases LANGUAGE plpgsql AS $$
BEGIN
  IF again THEN
    PERFORM 1 FROM leases WHERE resource_id = resource FOR UPDATE;
    IF svc_finished_17(token) THEN
      RETURN QUERY SELECT * FROM leases WHERE resource_id = resource AND holder_id = holder;
      RETURN;
    END IF;
  END IF;
  RETURN QUERY UPDATE leases AS l SET generation = l.generation + 1, expires_at = greatest(l.expires_at, until)
    WHERE l.resource_id = resource AND l.holder_id = holder AND EXISTS (
      SELECT 1 FROM sandboxes s WHERE s.id = resource AND s.state IN ('creating', 'running', 'unhealthy'))
    RETURNING l.*;
  IF FOUND THEN PERFORM svc_finish_17(token); END IF;
END $$;

CREATE FUNCTION svc_warm_ready_17(record jsonb, token text, again boolean) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  made warm_sandboxes := jsonb_populate_record(NULL::warm_sandboxes, record);
BEGIN
  UPDATE warm_sandboxes SET state = 'ready', image = made.image, memory_mb = made.memory_mb, vcpus = made.vcpus,
      runtime_id = made.runtime_id, warnings = made.warnings
    WHERE id = made.id AND epoch = made.epoch AND state = 'starting';
  IF NOT FOUND THEN RETURN again AND svc_finished_17(token); END IF;
  PERFORM svc_finish_17(token);
  RETURN true;
END $$;

CREATE FUNCTION svc_reserve_warm_17(record jsonb, total_cap bigint, provider_cap bigint, token text, again boolean)
  RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  made warm_sandboxes := jsonb_populate_record(NULL::warm_sandboxes, record);
BEGIN
  PERFORM pg_advisory_xact_lock(5, hashtext(made.provider));
  PERFORM pg_advisory_xact_lock(6, 0);
  PERFORM pg_advisory_xact_lock(8, 0);
  IF again AND svc_finished_17(token) THEN RETURN true; END IF;
  IF (total_cap > 0 AND total_cap <= (SELECT coalesce(sum(c.active), 0) FROM active_counts c)
        + (SELECT count(*) FROM warm_sandboxes))
    OR (provider_cap > 0 AND provider_cap <=
        (SELECT coalesce(sum(c.active), 0) FROM active_counts c WHERE c.provider = made.provider)
        + (SELECT count(*) FROM warm_sandboxes w WHERE w.provider = made.provider)) THEN
    RETURN false;
  END IF;
  INSERT INTO warm_sandboxes (${WARM_SANDBOXES}) SELECT ${WARM_SANDBOXES} FROM jsonb_populate_record(NULL::warm_sandboxes, record);
  PERFORM svc_finish_17(token);
  RETURN true;
END $$;

CREATE FUNCTION svc_heartbeat_17(worker text, body jsonb, at text, most bigint) RETURNS boolean LANGUAGE plpgsql AS $$
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

-- Returns 'heard', 'full' (no capacity for a new worker) or 'taken' (claimed with another secret since silent_since). Without
-- print it claims nothing.
CREATE FUNCTION svc_claimed_heartbeat_17(worker text, body jsonb, at text, most bigint, print text, silent_since text)
  RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF print IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock(4, 1);
    IF EXISTS (SELECT 1 FROM workers w
        WHERE w.id = worker AND w.secret_print <> print AND w.last_heartbeat > silent_since) THEN
      RETURN 'taken';
    END IF;
  END IF;
  IF NOT svc_heartbeat_17(worker, body, at, most) THEN RETURN 'full'; END IF;
  IF print IS NOT NULL THEN UPDATE workers SET secret_print = print WHERE id = worker; END IF;
  RETURN 'heard';
END $$;

CREATE FUNCTION svc_remove_worker_17(worker text, token text, again boolean) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM workers WHERE id = worker FOR UPDATE;
  IF NOT FOUND THEN RETURN CASE WHEN again AND svc_finished_17(token) THEN 'removed' ELSE 'absent' END; END IF;
  IF svc_on_worker_17(worker) > 0 THEN RETURN 'busy'; END IF;
  DELETE FROM workers WHERE id = worker;
  DELETE FROM active_counts WHERE worker_id = worker AND active = 0;
  PERFORM svc_finish_17(token);
  RETURN 'removed';
END $$;

CREATE FUNCTION svc_shifted_17(stamp text, shift_ms bigint) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN to_char(stamp::timestamptz AT TIME ZONE 'UTC' + shift_ms * interval '1 millisecond',
    'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
EXCEPTION WHEN data_exception THEN
  -- Stamps outside the calendar stay unchanged.
  RETURN stamp;
END $$;

CREATE FUNCTION svc_set_clock_17(boot text, distance bigint, shift_ms bigint, token text, again boolean)
  RETURNS TABLE (sandboxes bigint, leases bigint, workers bigint, claims bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  PERFORM pg_advisory_xact_lock(9, 1);
  IF again AND svc_finished_17(token) THEN
    RETURN QUERY SELECT (result->>0)::bigint, (result->>1)::bigint, (result->>2)::bigint, (result->>3)::bigint
      FROM finished_writes f WHERE f.token = svc_set_clock_17.token;
    RETURN;
  END IF;
  sandboxes := 0; leases := 0; workers := 0; claims := 0;
  INSERT INTO clock_mark (one, boot_id, distance_ms) VALUES (1, boot, distance)
    ON CONFLICT (one) DO UPDATE SET boot_id = excluded.boot_id, distance_ms = excluded.distance_ms;
  IF shift_ms <> 0 THEN
    UPDATE sandboxes AS s SET expires_at = svc_shifted_17(s.expires_at, shift_ms) WHERE s.state IN ${LIVE};
    GET DIAGNOSTICS sandboxes = ROW_COUNT;
    UPDATE leases AS l SET expires_at = svc_shifted_17(l.expires_at, shift_ms);
    GET DIAGNOSTICS leases = ROW_COUNT;
    UPDATE workers AS w SET last_heartbeat = svc_shifted_17(w.last_heartbeat, shift_ms);
    GET DIAGNOSTICS workers = ROW_COUNT;
    UPDATE idempotency AS i SET created_at = svc_shifted_17(i.created_at, shift_ms);
    GET DIAGNOSTICS claims = ROW_COUNT;
  END IF;
  INSERT INTO finished_writes (token, result)
    VALUES (svc_set_clock_17.token, jsonb_build_array(sandboxes, leases, workers, claims));
  RETURN NEXT;
END $$;
`;
