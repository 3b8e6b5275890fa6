// The time that several processes agree on is a table of PostgreSQL only. The version keeps both lists in step.
export const SHARED_TIME = 'SELECT 1';
