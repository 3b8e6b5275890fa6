// Claims of prewarmed sandboxes by replicas.
export const PREWARMED_CLAIMS = `
ALTER TABLE warm_sandboxes ADD COLUMN replica_id TEXT;
`;
