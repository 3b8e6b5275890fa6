// The fingerprint of the secret that a worker of this machine made itself: while the worker lives, nobody else gets its id.
export const WORKER_SECRETS = `
ALTER TABLE workers ADD COLUMN secret_print TEXT;
`;
