// Schema version 19: prewarmed sandboxes on workers. Like a sandbox there, one holds a lease, which a spawn that takes it takes
// over: `svc_reserve_19` then neither counts it against its worker's capacity nor writes a lease.
//
// Inserts name their columns, so that a later version can add others.
const LIVE = `('creating', 'running', 'unhealthy', 'destroying')`;
const SANDBOXES = `id, epoch, state, provider, image, memory_mb, vcpus, network, created_at, expires_at, metadata, env, worker_id,
  owner_id, runtime_id, ended_at, end_reason, template, vm_id, uid, warnings, created_by, ended_by, replica_id, change`;
const WARM_SANDBOXES = `id, epoch, state, template, shape, provider, image, memory_mb, vcpus, network, runtime_id, warnings, created_at,
  worker_id`;

const RESERVE_FUNCTION = `
CREATE FUNCTION svc_reserve_19(wish jsonb, token text, again boolean)
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
      OR (wish->'warm' IS NULL AND chosen.max_sandboxes > 0 AND chosen.max_sandboxes <= svc_on_worker_17(chosen.id)) THEN
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
  IF wish->'lease' IS NOT NULL AND wish->'warm' IS NULL THEN
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

const WARM_FUNCTIONS = `
CREATE FUNCTION svc_warm_on_19(of_worker text) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT count(*) FROM warm_sandboxes WHERE worker_id = of_worker
$$;

-- Without lease_until it is for this server. False: others took the capacity in between.
CREATE FUNCTION svc_reserve_warm_19(record jsonb, total_cap bigint, provider_cap bigint, lease_until text,
    token text, again boolean) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  made warm_sandboxes := jsonb_populate_record(NULL::warm_sandboxes, record);
  chosen workers;
BEGIN
  IF lease_until IS NOT NULL THEN SELECT * INTO chosen FROM workers w WHERE w.id = made.worker_id FOR UPDATE; END IF;
  IF provider_cap > 0 THEN PERFORM pg_advisory_xact_lock(5, hashtext(made.provider)); END IF;
  IF total_cap > 0 THEN PERFORM pg_advisory_xact_lock(6, 0); END IF;
  PERFORM pg_advisory_xact_lock(8, 0);
  IF again AND svc_finished_17(token) THEN RETURN true; END IF;
  IF lease_until IS NOT NULL AND (chosen.id IS NULL OR chosen.drain <> 0 OR chosen.status <> 'online'
      OR chosen.rpc_url IS NULL OR (chosen.max_sandboxes > 0
        AND chosen.max_sandboxes <= svc_on_worker_17(chosen.id) + svc_warm_on_19(chosen.id))) THEN
    RETURN false;
  END IF;
  IF (total_cap > 0 AND total_cap <= (SELECT coalesce(sum(c.active), 0) FROM active_counts c)
        + (SELECT count(*) FROM warm_sandboxes))
    OR (provider_cap > 0 AND provider_cap <= svc_active_17(made.provider)
        + (SELECT count(*) FROM warm_sandboxes w WHERE w.provider = made.provider AND w.worker_id = 'local')) THEN
    RETURN false;
  END IF;
  INSERT INTO warm_sandboxes (${WARM_SANDBOXES}) SELECT ${WARM_SANDBOXES} FROM jsonb_populate_record(NULL::warm_sandboxes, record);
  IF lease_until IS NOT NULL THEN
    INSERT INTO leases (resource_id, holder_id, generation, expires_at, created_at)
      VALUES (made.id, made.worker_id, 1, lease_until, made.created_at);
  END IF;
  PERFORM svc_finish_17(token);
  RETURN true;
END $$;

CREATE FUNCTION svc_renew_lease_19(resource text, holder text, until text, token text, again boolean)
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
    WHERE l.resource_id = resource AND l.holder_id = holder AND (
      EXISTS (SELECT 1 FROM sandboxes s WHERE s.id = resource AND s.state IN ('creating', 'running', 'unhealthy'))
      OR EXISTS (SELECT 1 FROM warm_sandboxes w WHERE w.id = resource))
    RETURNING l.*;
  IF FOUND THEN PERFORM svc_finish_17(token); END IF;
END $$;

CREATE FUNCTION svc_remove_worker_19(worker text, token text, again boolean) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM workers WHERE id = worker FOR UPDATE;
  IF NOT FOUND THEN RETURN CASE WHEN again AND svc_finished_17(token) THEN 'removed' ELSE 'absent' END; END IF;
  IF svc_on_worker_17(worker) + svc_warm_on_19(worker) > 0 THEN RETURN 'busy'; END IF;
  DELETE FROM workers WHERE id = worker;
  DELETE FROM active_counts WHERE worker_id = worker AND active = 0;
  PERFORM svc_finish_17(token);
  RETURN 'removed';
END $$;
`;

export const PREWARMED_WORKERS = `
ALTER TABLE warm_sandboxes ADD COLUMN worker_id text COLLATE "C" NOT NULL DEFAULT 'local';
${RESERVE_FUNCTION}
${WARM_FUNCTIONS}
`;
