// Who is starting or ending a sandbox: null at rest.
export const REPLICAS = `
ALTER TABLE sandboxes ADD COLUMN replica_id TEXT;
`;
