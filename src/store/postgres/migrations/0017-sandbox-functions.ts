// Functions of schema version 17, for writes that decide by what they read. Each is one statement of a client, so that no
// lock is held while a process waits for the network. The number in a name is the schema version: processes of two versions
// work side by side, so a function is never changed, only followed by another one.
//
// Locks are taken in one order: what is repeated, claim, owner, worker, provider, all. `pg_advisory_xact_lock(class, hash)`
// has the classes 1 to 6 for them, and 7 to 9 for templates, prewarmed sandboxes and migrations. Every statement in a
// function sees what was committed before it began, so a count after a lock is true.
//
// Inserts name their columns, so that a later version can add others.
const LIVE = `('creating', 'running', 'unhealthy', 'destroying')`;
const SANDBOXES = `id, epoch, state, provider, image, memory_mb, vcpus, network, created_at, expires_at, metadata, env, worker_id,
  owner_id, runtime_id, ended_at, end_reason, template, vm_id, uid, warnings, created_by, ended_by, replica_id, change`;

export const RESERVE_FUNCTIONS = `
CREATE FUNCTION svc_active_17(of_provider text) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT coalesce(sum(active), 0)::bigint FROM active_counts
    WHERE worker_id = 'local' AND provider = of_provider
$$;

CREATE FUNCTION svc_on_worker_17(of_worker text) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT coalesce(sum(active), 0)::bigint FROM active_counts WHERE worker_id = of_worker
$$;

CREATE FUNCTION svc_tell_17(drafts jsonb) RETURNS void LANGUAGE sql AS $$
  INSERT INTO outbox (eid, type, timestamp, sandbox_id, owner_id, actor, data, is_last)
    SELECT eid, type, timestamp, sandbox_id, owner_id, actor, data, is_last
      FROM jsonb_populate_recordset(NULL::outbox, drafts)
    ON CONFLICT (eid) DO NOTHING
$$;

CREATE FUNCTION svc_reserve_17(wish jsonb, token text, again boolean)
  RETURNS TABLE (kind text, worker_id text, sandbox_id text, fingerprint text, response text)
  LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  made sandboxes := jsonb_populate_record(NULL::sandboxes, wish->'row');
  claim jsonb := wish->'claim';
  claimed idempotency;
  chosen workers;
  provider_cap bigint := coalesce((wish->>'provider_cap')::bigint, 0);
  total_cap bigint := coalesce((wish->>'total_cap')::bigint, 0);
  owner_cap bigint := coalesce((wish->>'owner_cap')::bigint, 0);
BEGIN
  PERFORM pg_advisory_xact_lock(1, hashtext(made.id));
  IF again THEN
    RETURN QUERY SELECT 'reserved', own.worker_id, own.id, NULL::text, NULL::text FROM sandboxes own
      WHERE own.id = made.id AND own.change = token;
    IF FOUND THEN RETURN; END IF;
  END IF;
  IF claim IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock(2, hashtext((claim->>'scope') || chr(1) || (claim->>'key')));
    SELECT * INTO claimed FROM idempotency old WHERE old.scope = claim->>'scope' AND old.key = claim->>'key'
      AND (old.response IS NOT NULL
        OR EXISTS (SELECT 1 FROM sandboxes s WHERE s.id = old.sandbox_id AND s.state IN ${LIVE}));
    IF FOUND THEN
      RETURN QUERY SELECT 'replay', NULL::text, claimed.sandbox_id, claimed.fingerprint, claimed.response;
      RETURN;
    END IF;
  END IF;
  IF made.owner_id IS NOT NULL THEN
    IF owner_cap > 0 THEN PERFORM pg_advisory_xact_lock(3, hashtext(made.owner_id)); END IF;
    IF (SELECT q.updated_at FROM owner_quotas q WHERE q.owner_id = made.owner_id) IS DISTINCT FROM wish->>'quota_at'
      OR (owner_cap > 0 AND owner_cap <= (SELECT count(*) FROM sandboxes s
            WHERE s.owner_id = made.owner_id AND s.state IN ${LIVE})) THEN
      RETURN QUERY SELECT 'raced', NULL::text, NULL::text, NULL::text, NULL::text;
      RETURN;
    END IF;
  END IF;
  IF wish->'lease' IS NOT NULL THEN
    SELECT * INTO chosen FROM workers w WHERE w.id = made.worker_id FOR UPDATE;
    IF NOT FOUND OR chosen.drain <> 0 OR chosen.status <> 'online' OR chosen.rpc_url IS NULL
      OR (chosen.max_sandboxes > 0 AND chosen.max_sandboxes <= svc_on_worker_17(chosen.id)) THEN
      RETURN QUERY SELECT 'raced', NULL::text, NULL::text, NULL::text, NULL::text;
      RETURN;
    END IF;
  END IF;
  IF provider_cap > 0 THEN
    PERFORM pg_advisory_xact_lock(5, hashtext(made.provider));
    IF provider_cap <= svc_active_17(made.provider) THEN
      RETURN QUERY SELECT 'raced', NULL::text, NULL::text, NULL::text, NULL::text;
      RETURN;
    END IF;
  END IF;
  IF total_cap > 0 THEN
    PERFORM pg_advisory_xact_lock(6, 0);
    IF total_cap <= (SELECT coalesce(sum(c.active), 0) FROM active_counts c) THEN
      RETURN QUERY SELECT 'raced', NULL::text, NULL::text, NULL::text, NULL::text;
      RETURN;
    END IF;
  END IF;
  IF wish->'warm' IS NOT NULL THEN
    DELETE FROM warm_sandboxes w WHERE w.id = made.id AND w.epoch = made.epoch AND w.state = 'ready';
    IF NOT FOUND THEN
      RETURN QUERY SELECT 'gone', NULL::text, NULL::text, NULL::text, NULL::text;
      RETURN;
    END IF;
  END IF;
  INSERT INTO sandboxes (${SANDBOXES}) SELECT ${SANDBOXES}
    FROM jsonb_populate_record(NULL::sandboxes, (wish->'row') || jsonb_build_object('change', token));
  IF wish->'lease' IS NOT NULL THEN
    INSERT INTO leases (resource_id, holder_id, generation, expires_at, created_at)
      VALUES (made.id, made.worker_id, 1, wish->'lease'->>'expires_at', made.created_at);
  END IF;
  IF claim IS NOT NULL THEN
    INSERT INTO idempotency (scope, key, fingerprint, sandbox_id, response, created_at)
      VALUES (claim->>'scope', claim->>'key', claim->>'fingerprint', made.id, wish->'warm'->>'response', made.created_at)
      ON CONFLICT (scope, key) DO UPDATE SET fingerprint = excluded.fingerprint, sandbox_id = excluded.sandbox_id,
        response = excluded.response, created_at = excluded.created_at;
  END IF;
  PERFORM svc_tell_17(wish->'events');
  RETURN QUERY SELECT 'reserved', made.worker_id, made.id, NULL::text, NULL::text;
END $$;
`;

export const EVENT_FUNCTIONS = `
CREATE FUNCTION svc_append_17(drafts jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  PERFORM svc_tell_17(drafts);
END $$;

CREATE FUNCTION svc_record_execs_17(records jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  INSERT INTO execs (sandbox_id, exec_id, command, detached, actor, started_at, ended_at, exit_code, signal)
    SELECT sandbox_id, exec_id, command, detached, actor, started_at, ended_at, exit_code, signal
      FROM jsonb_populate_recordset(NULL::execs, records)
    ON CONFLICT (sandbox_id, exec_id) DO UPDATE
      SET ended_at = excluded.ended_at, exit_code = excluded.exit_code, signal = excluded.signal;
END $$;

CREATE FUNCTION svc_number_17(most integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  ids event_ids;
  line text := substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8);
  taken bigint;
  numbered bigint;
BEGIN
  SELECT * INTO ids FROM event_ids FOR UPDATE;
  -- A new timeline without a synchronous standby may have lost ids that readers have.
  IF ids.timeline NOT IN ('', line) AND NOT ids.is_synchronous THEN ids.last := ids.last + 10000; END IF;
  WITH batch AS (
    DELETE FROM outbox WHERE ord IN (SELECT ord FROM outbox ORDER BY ord LIMIT most) RETURNING *
  ), kept AS (
    SELECT * FROM batch WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.eid = batch.eid)
      AND NOT EXISTS (SELECT 1 FROM events e WHERE e.is_last AND e.sandbox_id = batch.sandbox_id)
      AND NOT EXISTS (SELECT 1 FROM batch other WHERE batch.is_last AND other.is_last
        AND other.sandbox_id = batch.sandbox_id AND other.ord < batch.ord)
  ), stored AS (
    INSERT INTO events (id, type, timestamp, sandbox_id, owner_id, actor, data, eid, is_last)
      SELECT ids.last + row_number() OVER (ORDER BY is_last, ord),
          type, timestamp, sandbox_id, owner_id, actor, data, eid, is_last FROM kept
      RETURNING 1
  )
  SELECT (SELECT count(*) FROM batch), (SELECT count(*) FROM stored) INTO taken, numbered;
  UPDATE event_ids SET last = ids.last + numbered, timeline = line,
    is_synchronous = current_setting('synchronous_standby_names') <> '';
  RETURN taken;
END $$;

CREATE FUNCTION svc_prune_events_17(holder text, most bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  last bigint;
  deleted bigint;
BEGIN
  SELECT max(id) INTO last FROM
    (SELECT id FROM events WHERE owner_id IS NOT DISTINCT FROM holder ORDER BY id LIMIT most) AS oldest;
  IF last IS NULL THEN RETURN 0; END IF;
  DELETE FROM events WHERE owner_id IS NOT DISTINCT FROM holder AND id <= last;
  GET DIAGNOSTICS deleted = ROW_COUNT;
  INSERT INTO event_gaps (owner_id, through) VALUES (coalesce(holder, ''), last)
    ON CONFLICT (owner_id) DO UPDATE SET through = greatest(event_gaps.through, excluded.through);
  DELETE FROM event_gaps WHERE through < coalesce((SELECT min(id) FROM events), through + 1);
  RETURN deleted;
END $$;
`;
