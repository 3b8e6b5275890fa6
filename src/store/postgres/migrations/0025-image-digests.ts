// Schema version 25: the image of the store that a sandbox runs on, and what spawns from a template do about a missing image.
// The functions write the new columns after those of earlier versions, in the same statement of the client.
export const IMAGE_DIGESTS = `
ALTER TABLE sandboxes ADD COLUMN image_digest text COLLATE "C";
ALTER TABLE warm_sandboxes ADD COLUMN image_digest text COLLATE "C";
ALTER TABLE templates ADD COLUMN pull text COLLATE "C";

CREATE FUNCTION svc_warm_ready_25(record jsonb, token text, again boolean) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF NOT svc_warm_ready_23(record, token, again) THEN RETURN false; END IF;
  UPDATE warm_sandboxes SET image_digest = record->>'image_digest'
    WHERE id = record->>'id' AND record->>'image_digest' IS NOT NULL;
  RETURN true;
END $$;

CREATE FUNCTION svc_reserve_claimed_25(wish jsonb, token text, again boolean)
  RETURNS TABLE (kind text, worker_id text, sandbox_id text, fingerprint text, response text, turn bigint)
  LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY SELECT * FROM svc_reserve_claimed_23(wish, token, again);
  UPDATE sandboxes SET image_digest = wish->'row'->>'image_digest'
    WHERE id = wish->'row'->>'id' AND change = token AND wish->'row'->>'image_digest' IS NOT NULL;
END $$;

CREATE FUNCTION svc_create_template_25(record jsonb, most bigint, most_of_owner bigint, token text, again boolean)
  RETURNS TABLE (kind text, present bigint, of_owner bigint) LANGUAGE plpgsql AS $$
DECLARE
  was_finished boolean := again AND svc_finished_17(token);
BEGIN
  SELECT * INTO kind, present, of_owner FROM svc_create_template_18(record, most, most_of_owner, token, again);
  IF kind = 'created' AND NOT was_finished AND record->>'pull' IS NOT NULL THEN
    UPDATE templates t SET pull = record->>'pull' WHERE t.owner_id = record->>'owner_id' AND t.name = record->>'name';
  END IF;
  RETURN NEXT;
END $$;

CREATE FUNCTION svc_replace_template_25(record jsonb, versions jsonb, token text, again boolean)
  RETURNS TABLE (kind text, stale_version bigint, owner_id text, name text, version bigint, description text, image text,
    provider text, memory_mb bigint, vcpus bigint, ttl text, network text, worker_id text, worker_labels text,
    metadata text, env text, setup text, prewarm bigint, created_at text, updated_at text, pull text) LANGUAGE plpgsql AS $$
DECLARE
  was_finished boolean := again AND svc_finished_17(token);
BEGIN
  SELECT * INTO kind, stale_version, owner_id, name, version, description, image, provider, memory_mb, vcpus, ttl, network,
      worker_id, worker_labels, metadata, env, setup, prewarm, created_at, updated_at
    FROM svc_replace_template_18(record, versions, token, again);
  IF kind = 'replaced' AND NOT was_finished THEN
    UPDATE templates t SET pull = record->>'pull' WHERE t.owner_id = record->>'owner_id' AND t.name = record->>'name';
  END IF;
  SELECT t.pull INTO pull FROM templates t WHERE t.owner_id = record->>'owner_id' AND t.name = record->>'name';
  RETURN NEXT;
END $$;
`;
