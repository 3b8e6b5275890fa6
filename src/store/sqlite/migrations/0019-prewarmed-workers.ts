// Prewarmed sandboxes on workers. Like a sandbox there, one holds a lease, which a spawn that takes it takes over.
export const PREWARMED_WORKERS = `
ALTER TABLE warm_sandboxes ADD COLUMN worker_id TEXT NOT NULL DEFAULT 'local';
`;
