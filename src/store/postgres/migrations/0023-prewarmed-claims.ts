// Schema version 23: claims of prewarmed sandboxes by replicas.
const WARM_SANDBOXES = `id, epoch, state, template, shape, provider, image, memory_mb, vcpus, network, runtime_id, warnings, created_at,
  worker_id, replica_id`;

const FUNCTIONS = `
-- Without lease_until it is for this server. 'raced': others took the capacity in between. 'enough': there are as many of its shape as wanted.
CREATE FUNCTION svc_reserve_warm_23(record jsonb, total_cap bigint, provider_cap bigint, lease_until text,
    most bigint, token text, again boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  made warm_sandboxes := jsonb_populate_record(NULL::warm_sandboxes, record);
  chosen workers;
BEGIN
  IF lease_until IS NOT NULL THEN SELECT * INTO chosen FROM workers w WHERE w.id = made.worker_id FOR UPDATE; END IF;
  IF provider_cap > 0 THEN PERFORM pg_advisory_xact_lock(5, hashtext(made.provider)); END IF;
  IF total_cap > 0 THEN PERFORM pg_advisory_xact_lock(6, 0); END IF;
  PERFORM pg_advisory_xact_lock(8, 0);
  IF again AND svc_finished_17(token) THEN RETURN 'reserved'; END IF;
  IF most <= (SELECT count(*) FROM warm_sandboxes w WHERE w.shape = made.shape AND w.state <> 'ending') THEN
    RETURN 'enough';
  END IF;
  IF lease_until IS NOT NULL AND (chosen.id IS NULL OR chosen.drain <> 0 OR chosen.status <> 'online'
      OR chosen.rpc_url IS NULL OR (chosen.max_sandboxes > 0
        AND chosen.max_sandboxes <= svc_on_worker_17(chosen.id) + svc_warm_on_19(chosen.id))) THEN
    RETURN 'raced';
  END IF;
  IF (total_cap > 0 AND total_cap <= (SELECT coalesce(sum(c.active), 0) FROM active_counts c)
        + (SELECT count(*) FROM warm_sandboxes))
    OR (provider_cap > 0 AND provider_cap <= svc_active_17(made.provider)
        + (SELECT count(*) FROM warm_sandboxes w WHERE w.provider = made.provider AND w.worker_id = 'local')) THEN
    RETURN 'raced';
  END IF;
  INSERT INTO warm_sandboxes (${WARM_SANDBOXES}) SELECT ${WARM_SANDBOXES} FROM jsonb_populate_record(NULL::warm_sandboxes, record);
  IF lease_until IS NOT NULL THEN
    INSERT INTO leases (resource_id, holder_id, generation, expires_at, created_at)
      VALUES (made.id, made.worker_id, 1, lease_until, made.created_at);
  END IF;
  PERFORM svc_finish_17(token);
  RETURN 'reserved';
END $$;

CREATE FUNCTION svc_warm_ready_23(record jsonb, token text, again boolean) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  made warm_sandboxes := jsonb_populate_record(NULL::warm_sandboxes, record);
BEGIN
  UPDATE warm_sandboxes SET state = 'ready', image = made.image, memory_mb = made.memory_mb, vcpus = made.vcpus,
      runtime_id = made.runtime_id, warnings = made.warnings, replica_id = NULL
    WHERE id = made.id AND epoch = made.epoch AND state = 'starting' AND replica_id IS NOT DISTINCT FROM made.replica_id;
  IF NOT FOUND THEN RETURN again AND svc_finished_17(token); END IF;
  PERFORM svc_finish_17(token);
  RETURN true;
END $$;

-- As svc_reserve_22, of a prewarmed sandbox that wish.warm.replica_id has claimed; without it, of one at rest.
CREATE FUNCTION svc_reserve_claimed_23(wish jsonb, token text, again boolean)
  RETURNS TABLE (kind text, worker_id text, sandbox_id text, fingerprint text, response text, turn bigint)
  LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  found_row warm_sandboxes;
BEGIN
  SELECT * INTO found_row FROM warm_sandboxes w WHERE w.id = wish->'row'->>'id' FOR UPDATE;
  IF FOUND AND found_row.replica_id IS DISTINCT FROM (wish->'warm'->>'replica_id') THEN
    RETURN QUERY SELECT 'gone', NULL::text, NULL::text, NULL::text, NULL::text, NULL::bigint;
    RETURN;
  END IF;
  RETURN QUERY SELECT * FROM svc_reserve_22(wish, token, again);
END $$;
`;

export const PREWARMED_CLAIMS = `
ALTER TABLE warm_sandboxes ADD COLUMN replica_id text COLLATE "C";
-- The write that claimed it, for its repetition.
ALTER TABLE warm_sandboxes ADD COLUMN change text;
${FUNCTIONS}
`;
