// The states of a sandbox: apart from its schema, as commands name them that do without schemas.
export const SANDBOX_STATES = [
  'creating',
  'running',
  'unhealthy',
  'destroying',
  'destroyed',
  'error',
] as const;
export type SandboxState = (typeof SANDBOX_STATES)[number];
