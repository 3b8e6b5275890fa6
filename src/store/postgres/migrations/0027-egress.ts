// Schema version 27: egress policies of sandboxes, templates and owners, as JSON. A sandbox gets its policy with `running`.
export const EGRESS = `
ALTER TABLE sandboxes ADD COLUMN egress text COLLATE "C";
ALTER TABLE templates ADD COLUMN egress text COLLATE "C";
ALTER TABLE owner_quotas ADD COLUMN egress text COLLATE "C";

CREATE FUNCTION svc_create_template_27(record jsonb, most bigint, most_of_owner bigint, token text, again boolean)
  RETURNS TABLE (kind text, present bigint, of_owner bigint) LANGUAGE plpgsql AS $$
DECLARE
  was_finished boolean := again AND svc_finished_17(token);
BEGIN
  SELECT * INTO kind, present, of_owner FROM svc_create_template_25(record, most, most_of_owner, token, again);
  IF kind = 'created' AND NOT was_finished AND record->>'egress' IS NOT NULL THEN
    UPDATE templates t SET egress = record->>'egress' WHERE t.owner_id = record->>'owner_id' AND t.name = record->>'name';
  END IF;
  RETURN NEXT;
END $$;

CREATE FUNCTION svc_replace_template_27(record jsonb, versions jsonb, token text, again boolean)
  RETURNS TABLE (kind text, stale_version bigint, owner_id text, name text, version bigint, description text, image text,
    provider text, memory_mb bigint, vcpus bigint, ttl text, network text, worker_id text, worker_labels text,
    metadata text, env text, setup text, prewarm bigint, created_at text, updated_at text, pull text, egress text)
  LANGUAGE plpgsql AS $$
DECLARE
  was_finished boolean := again AND svc_finished_17(token);
BEGIN
  SELECT * INTO kind, stale_version, owner_id, name, version, description, image, provider, memory_mb, vcpus, ttl, network,
      worker_id, worker_labels, metadata, env, setup, prewarm, created_at, updated_at, pull
    FROM svc_replace_template_25(record, versions, token, again);
  IF kind = 'replaced' AND NOT was_finished THEN
    UPDATE templates t SET egress = record->>'egress' WHERE t.owner_id = record->>'owner_id' AND t.name = record->>'name';
  END IF;
  SELECT t.egress INTO egress FROM templates t WHERE t.owner_id = record->>'owner_id' AND t.name = record->>'name';
  RETURN NEXT;
END $$;
`;
