// Functions of schema version 17, continued: quotas, templates and keys.
const TEMPLATES = `owner_id, name, description, version, image, provider, memory_mb, vcpus, ttl, network, metadata, env, setup, prewarm,
  created_at, updated_at`;
const KEYS = `id, name, hash, previous_hash, previous_until, prefix, owner_id, scopes, created_at, created_by, expires_at, last_used_at,
  rotated_at, revoked_at, revoked_by`;

export const RECORD_FUNCTIONS = `
CREATE FUNCTION svc_finish_17(write_token text) RETURNS void LANGUAGE sql AS $$
  INSERT INTO finished_writes (token) VALUES (write_token)
$$;

CREATE FUNCTION svc_finished_17(write_token text) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT 1 FROM finished_writes WHERE token = write_token)
$$;

CREATE FUNCTION svc_delete_quota_17(owner text, drafts jsonb, token text, again boolean) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM owner_quotas WHERE owner_id = owner;
  IF NOT FOUND THEN RETURN again AND svc_finished_17(token); END IF;
  PERFORM svc_tell_17(drafts);
  PERFORM svc_finish_17(token);
  RETURN true;
END $$;

CREATE FUNCTION svc_replace_template_17(record jsonb, versions jsonb, token text, again boolean)
  RETURNS TABLE (kind text, stale_version bigint, owner_id text, name text, version bigint, description text, image text,
    provider text, memory_mb bigint, vcpus bigint, ttl text, network text, metadata text, env text, setup text,
    prewarm bigint, created_at text, updated_at text) LANGUAGE plpgsql AS $$
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
          metadata = made.metadata, env = made.env, setup = made.setup, prewarm = made.prewarm,
          version = t.version + 1, updated_at = made.updated_at
        WHERE t.owner_id = made.owner_id AND t.name = made.name;
      PERFORM svc_finish_17(token);
    END IF;
  END IF;
  RETURN QUERY SELECT kind, stale_version, t.owner_id, t.name, t.version, t.description, t.image, t.provider, t.memory_mb,
      t.vcpus, t.ttl, t.network, t.metadata, t.env, t.setup, t.prewarm, t.created_at, t.updated_at
    FROM (SELECT 1) AS one LEFT JOIN templates t ON t.owner_id = made.owner_id AND t.name = made.name;
END $$;

CREATE FUNCTION svc_delete_template_17(owner text, template text, token text, again boolean) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM templates WHERE owner_id = owner AND name = template;
  IF NOT FOUND THEN RETURN again AND svc_finished_17(token); END IF;
  PERFORM svc_finish_17(token);
  RETURN true;
END $$;

CREATE FUNCTION svc_rotate_key_17(key_id text, known_hash text, rotation jsonb, token text, again boolean)
  RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM key_changes FOR UPDATE;
  UPDATE keys SET hash = rotation->>'hash', prefix = rotation->>'prefix', rotated_at = rotation->>'rotated_at',
      previous_hash = rotation->>'previous_hash', previous_until = rotation->>'previous_until',
      expires_at = rotation->>'expires_at'
    WHERE id = key_id AND hash = known_hash AND revoked_at IS NULL;
  IF NOT FOUND THEN RETURN again AND svc_finished_17(token); END IF;
  UPDATE key_changes SET changes = changes + 1;
  PERFORM svc_finish_17(token);
  RETURN true;
END $$;

CREATE FUNCTION svc_purge_keys_17(before text, most bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  deleted bigint;
BEGIN
  PERFORM 1 FROM key_changes FOR UPDATE;
  DELETE FROM keys WHERE id IN (SELECT id FROM keys WHERE revoked_at < before OR expires_at < before
    ORDER BY created_at, id LIMIT most);
  GET DIAGNOSTICS deleted = ROW_COUNT;
  IF deleted > 0 THEN UPDATE key_changes SET changes = changes + 1; END IF;
  RETURN deleted;
END $$;

CREATE FUNCTION svc_create_template_17(record jsonb, most bigint, most_of_owner bigint, token text, again boolean)
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

CREATE FUNCTION svc_create_key_17(record jsonb, most bigint, most_of_owner bigint, token text, again boolean)
  RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  made keys := jsonb_populate_record(NULL::keys, record);
BEGIN
  PERFORM 1 FROM key_changes FOR UPDATE;
  IF again AND svc_finished_17(token) THEN RETURN 'created'; END IF;
  IF EXISTS (SELECT 1 FROM keys k WHERE k.name = made.name AND k.revoked_at IS NULL) THEN RETURN 'taken'; END IF;
  IF (SELECT count(*) FROM keys k WHERE k.revoked_at IS NULL) >= most THEN RETURN 'full'; END IF;
  IF made.owner_id IS NOT NULL AND most_of_owner <=
      (SELECT count(*) FROM keys k WHERE k.owner_id = made.owner_id AND k.revoked_at IS NULL) THEN
    RETURN 'owner_full';
  END IF;
  INSERT INTO keys (${KEYS}) SELECT ${KEYS} FROM jsonb_populate_record(NULL::keys, record);
  UPDATE key_changes SET changes = changes + 1;
  PERFORM svc_finish_17(token);
  RETURN 'created';
END $$;

CREATE FUNCTION svc_revoke_key_17(key_id text, at text, by_actor text, kept bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM key_changes FOR UPDATE;
  UPDATE keys SET revoked_at = at, revoked_by = by_actor WHERE id = key_id AND revoked_at IS NULL;
  IF NOT FOUND THEN RETURN; END IF;
  UPDATE key_changes SET changes = changes + 1;
  DELETE FROM keys WHERE id IN (SELECT id FROM keys WHERE revoked_at IS NOT NULL
    ORDER BY revoked_at DESC, id DESC OFFSET kept);
END $$;
`;
