// Who has which runtime is a table of PostgreSQL only: one process has it in memory. The version keeps both lists in step.
export const RUNTIMES = 'SELECT 1';
