// Schema version 26: admissions that one process has at the same time are read and written together. The plans of statements in
// these functions last as long as the connection; a query with all facts in one would be planned each time.
const LIVE = `('creating', 'running', 'unhealthy', 'destroying')`;
const SANDBOXES = `id, epoch, state, provider, image, memory_mb, vcpus, network, created_at, expires_at, metadata, env, worker_id,
  owner_id, runtime_id, ended_at, end_reason, template, vm_id, uid, warnings, created_by, ended_by, replica_id, change, image_digest`;

const FACTS = `
-- Workers that could run a sandbox of the provider, and the server's own row, each as JSON.
CREATE FUNCTION svc_places_26(of_provider text, remote boolean, heartbeat_after text, sessions boolean, has_demand boolean,
    images_of text[]) RETURNS TABLE (local text, candidates text) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
  local := (SELECT to_json(l)::text FROM (SELECT drain, labels FROM workers WHERE id = 'local') AS l);
  candidates := '[]';
  IF remote THEN
    candidates := (SELECT coalesce(json_agg(candidate), '[]')::text FROM (
      SELECT id, CASE WHEN has_demand THEN labels ELSE '{}' END AS labels, max_sandboxes, svc_on_worker_17(id) AS active,
          svc_warm_on_19(id) AS prewarmed,
          EXISTS (SELECT 1 FROM json_array_elements_text(images::json) AS name WHERE name = ANY(images_of)) AS has_image
        FROM workers
        WHERE id <> 'local' AND drain = 0 AND status = 'online' AND rpc_url IS NOT NULL
          AND last_heartbeat > heartbeat_after
          AND (NOT sessions OR 'sessions' IN (SELECT json_array_elements_text(capabilities::json)))
          AND of_provider IN (SELECT json_array_elements_text(providers::json))) AS candidate);
  END IF;
  RETURN NEXT;
END $$;

-- What decides about each ask, in their order, as one moment has it. candidates is null if those of the ask before count here too.
CREATE FUNCTION svc_admission_facts_26(asks jsonb)
  RETURNS TABLE (total bigint, of_provider bigint, of_owner bigint, quota text, local text, candidates text, replay text)
  LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
  ask jsonb;
  place jsonb;
  last_place jsonb;
  last_provider text;
BEGIN
  total := (SELECT coalesce(sum(c.active), 0) FROM active_counts c);
  FOR ask IN SELECT jsonb_array_elements(asks) LOOP
    place := ask->'place';
    of_provider := (SELECT coalesce(sum(c.active), 0) FROM active_counts c
      WHERE c.worker_id = 'local' AND c.provider = ask->>'provider');
    of_owner := NULL;
    quota := NULL;
    IF ask->>'owner_id' IS NOT NULL THEN
      of_owner := (SELECT count(*) FROM sandboxes s WHERE s.owner_id = ask->>'owner_id' AND s.state IN ${LIVE});
      quota := (SELECT to_json(q)::text FROM (SELECT o.owner_id, o.max_sandboxes, o.max_ttl, o.max_exec_timeout, o.created_at,
        o.updated_at FROM owner_quotas o WHERE o.owner_id = ask->>'owner_id') AS q);
    END IF;
    candidates := NULL;
    IF place IS NOT NULL AND (place - 'heartbeat_after' IS DISTINCT FROM last_place
        OR ask->>'provider' IS DISTINCT FROM last_provider) THEN
      SELECT p.local, p.candidates INTO local, candidates FROM svc_places_26(ask->>'provider', (place->>'remote')::boolean,
        place->>'heartbeat_after', (place->>'sessions')::boolean, (place->>'has_demand')::boolean,
        ARRAY(SELECT jsonb_array_elements_text(place->'images'))) AS p;
      last_place := place - 'heartbeat_after';
      last_provider := ask->>'provider';
    END IF;
    replay := NULL;
    IF ask->>'key' IS NOT NULL THEN
      replay := (SELECT to_json(c)::text FROM (SELECT i.sandbox_id, i.fingerprint, i.response FROM idempotency i
        WHERE i.scope = ask->>'scope' AND i.key = ask->>'key' AND (i.response IS NOT NULL
          OR EXISTS (SELECT 1 FROM sandboxes s WHERE s.id = i.sandbox_id AND s.state IN ${LIVE}))) AS c);
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;
`;

const GUARD = `
-- svc_reserve_19 for several wishes without a prewarmed sandbox, each with an outcome of its own. The locks of all are taken first,
-- class by class, so that calls for several wishes and those for one have the same order.
CREATE FUNCTION svc_reserve_all_26(wishes jsonb, token text, again boolean)
  RETURNS TABLE (n integer, kind text, worker_id text, sandbox_id text, fingerprint text, response text)
  LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  claims integer[];
  owners integer[];
  hosts text[];
  providers integer[];
  has_total boolean;
  hash integer;
  wish record;
  claimed idempotency;
  chosen workers;
  total bigint := 0;
  on_worker bigint := 0;
  own_of_provider bigint := 0;
  last_worker text := '';
  last_provider text := '';
  own_owners text[] := '{}';
  made jsonb := '[]';
  leased jsonb := '[]';
  claiming jsonb := '[]';
  told jsonb := '[]';
BEGIN
  PERFORM pg_advisory_xact_lock(1, hashtext(token));
  SELECT array_agg(DISTINCT hashtext((w->'claim'->>'scope') || chr(1) || (w->'claim'->>'key'))) FILTER (WHERE w ? 'claim'),
      array_agg(DISTINCT hashtext(w->'row'->>'owner_id')) FILTER (WHERE (w->>'owner_cap')::bigint > 0),
      array_agg(DISTINCT w->'row'->>'worker_id') FILTER (WHERE w ? 'lease'),
      array_agg(DISTINCT hashtext(w->'row'->>'provider')) FILTER (WHERE (w->>'provider_cap')::bigint > 0),
      coalesce(bool_or((w->>'total_cap')::bigint > 0), false)
    INTO claims, owners, hosts, providers, has_total FROM jsonb_array_elements(wishes) AS w;
  FOREACH hash IN ARRAY coalesce(claims, '{}') LOOP PERFORM pg_advisory_xact_lock(2, hash); END LOOP;
  FOREACH hash IN ARRAY coalesce(owners, '{}') LOOP PERFORM pg_advisory_xact_lock(3, hash); END LOOP;
  IF hosts IS NOT NULL THEN PERFORM 1 FROM workers w WHERE w.id = ANY(hosts) ORDER BY w.id FOR UPDATE; END IF;
  FOREACH hash IN ARRAY coalesce(providers, '{}') LOOP PERFORM pg_advisory_xact_lock(5, hash); END LOOP;
  IF has_total THEN
    PERFORM pg_advisory_xact_lock(6, 0);
    total := (SELECT coalesce(sum(c.active), 0) FROM active_counts c);
  END IF;
  -- In this order rows of active_counts are changed, too.
  FOR wish IN
    SELECT (w.ordinality - 1)::integer AS n, w.value->'row' AS made, w.value->'row'->>'id' AS id,
        w.value->'row'->>'worker_id' AS worker_id, w.value->'row'->>'provider' AS provider,
        w.value->'row'->>'owner_id' AS owner_id, w.value->'row'->>'created_at' AS created_at,
        w.value->>'quota_at' AS quota_at, coalesce((w.value->>'total_cap')::bigint, 0) AS total_cap,
        coalesce((w.value->>'provider_cap')::bigint, 0) AS provider_cap,
        coalesce((w.value->>'owner_cap')::bigint, 0) AS owner_cap,
        w.value->'lease' AS lease, w.value->'claim' AS claim, w.value->'events' AS events
      FROM jsonb_array_elements(wishes) WITH ORDINALITY AS w ORDER BY 4, 5, 1
  LOOP
    n := wish.n;
    kind := 'raced';
    worker_id := NULL;
    sandbox_id := NULL;
    fingerprint := NULL;
    response := NULL;
    SELECT CASE WHEN again AND s.change = token THEN 'reserved' ELSE 'exists' END, s.worker_id, s.id
      INTO kind, worker_id, sandbox_id FROM sandboxes s WHERE s.id = wish.id;
    IF FOUND THEN
      RETURN NEXT;
      CONTINUE;
    END IF;
    kind := 'raced';
    IF wish.claim IS NOT NULL THEN
      SELECT * INTO claimed FROM idempotency old
        WHERE old.scope = wish.claim->>'scope' AND old.key = wish.claim->>'key' AND (old.response IS NOT NULL
          OR EXISTS (SELECT 1 FROM sandboxes s WHERE s.id = old.sandbox_id AND s.state IN ${LIVE}));
      IF FOUND THEN
        kind := 'replay';
        sandbox_id := claimed.sandbox_id;
        fingerprint := claimed.fingerprint;
        response := claimed.response;
        RETURN NEXT;
        CONTINUE;
      END IF;
    END IF;
    IF wish.owner_id IS NOT NULL AND (
        (SELECT q.updated_at FROM owner_quotas q WHERE q.owner_id = wish.owner_id) IS DISTINCT FROM wish.quota_at
        OR (wish.owner_cap > 0 AND wish.owner_cap <= coalesce(cardinality(array_positions(own_owners, wish.owner_id)), 0)
          + (SELECT count(*) FROM sandboxes s WHERE s.owner_id = wish.owner_id AND s.state IN ${LIVE}))) THEN
      RETURN NEXT;
      CONTINUE;
    END IF;
    IF wish.worker_id <> last_worker THEN
      last_worker := wish.worker_id;
      last_provider := '';
      IF wish.lease IS NOT NULL THEN
        SELECT * INTO chosen FROM workers w WHERE w.id = wish.worker_id;
        on_worker := svc_on_worker_17(wish.worker_id);
      END IF;
    END IF;
    IF wish.lease IS NOT NULL AND (chosen.id IS NULL OR chosen.drain <> 0 OR chosen.status <> 'online'
        OR chosen.rpc_url IS NULL OR (chosen.max_sandboxes > 0 AND chosen.max_sandboxes <= on_worker)) THEN
      RETURN NEXT;
      CONTINUE;
    END IF;
    IF wish.provider <> last_provider THEN
      last_provider := wish.provider;
      own_of_provider := 0;
    END IF;
    IF wish.provider_cap > 0 THEN
      IF wish.provider_cap <= own_of_provider + (SELECT coalesce(sum(c.active), 0) FROM active_counts c
          WHERE c.worker_id = 'local' AND c.provider = wish.provider) THEN
        RETURN NEXT;
        CONTINUE;
      END IF;
    END IF;
    IF wish.total_cap > 0 AND wish.total_cap <= total THEN
      RETURN NEXT;
      CONTINUE;
    END IF;
    total := total + 1;
    on_worker := on_worker + 1;
    own_of_provider := own_of_provider + 1;
    own_owners := own_owners || wish.owner_id;
    made := made || (wish.made || jsonb_build_object('change', token));
    told := told || wish.events;
    IF wish.lease IS NOT NULL THEN
      leased := leased || jsonb_build_object('resource_id', wish.id, 'holder_id', wish.worker_id,
        'expires_at', wish.lease->>'expires_at', 'created_at', wish.created_at);
    END IF;
    IF wish.claim IS NOT NULL THEN
      claiming := claiming || (wish.claim || jsonb_build_object('sandbox_id', wish.id, 'created_at', wish.created_at));
    END IF;
    kind := 'reserved';
    worker_id := wish.worker_id;
    sandbox_id := wish.id;
    RETURN NEXT;
  END LOOP;
  IF made = '[]' THEN RETURN; END IF;
  INSERT INTO sandboxes (${SANDBOXES}) SELECT ${SANDBOXES} FROM jsonb_populate_recordset(NULL::sandboxes, made);
  IF leased <> '[]' THEN
    INSERT INTO leases (resource_id, holder_id, generation, expires_at, created_at)
      SELECT resource_id, holder_id, 1, expires_at, created_at FROM jsonb_populate_recordset(NULL::leases, leased);
  END IF;
  IF claiming <> '[]' THEN
    INSERT INTO idempotency (scope, key, fingerprint, sandbox_id, response, created_at)
      SELECT scope, key, fingerprint, sandbox_id, NULL, created_at FROM jsonb_populate_recordset(NULL::idempotency, claiming)
      ON CONFLICT (scope, key) DO UPDATE SET fingerprint = excluded.fingerprint, sandbox_id = excluded.sandbox_id,
        response = excluded.response, created_at = excluded.created_at;
  END IF;
  INSERT INTO outbox (eid, type, timestamp, sandbox_id, owner_id, actor, data, is_last)
    SELECT eid, type, timestamp, sandbox_id, owner_id, actor, data, is_last
      FROM jsonb_populate_recordset(NULL::outbox, told)
    ON CONFLICT (eid) DO NOTHING;
END $$;
`;

const NUMBER = `
-- svc_number_17 that writes nothing if other processes have numbered everything.
CREATE FUNCTION svc_number_26(most integer) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM outbox) THEN RETURN 0; END IF;
  RETURN svc_number_17(most);
END $$;
`;

export const JOINED_ADMISSIONS = `${FACTS}${GUARD}${NUMBER}`;
