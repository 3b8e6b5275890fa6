// Schema version 32: whoever takes a prewarmed sandbox stores its egress policy with it. The older function does the rest, in the
// same statement of the client.
export const PREWARMED_EGRESS = `
CREATE FUNCTION svc_reserve_claimed_32(wish jsonb, token text, again boolean)
  RETURNS TABLE (kind text, worker_id text, sandbox_id text, fingerprint text, response text, turn bigint)
  LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY SELECT * FROM svc_reserve_claimed_25(wish, token, again);
  UPDATE sandboxes SET egress = wish->'row'->>'egress'
    WHERE id = wish->'row'->>'id' AND change = token AND wish->'row'->>'egress' IS NOT NULL;
END $$;
`;
