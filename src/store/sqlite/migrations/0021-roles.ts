// Replicas and roles are tables of PostgreSQL only: one process has the file, and all roles. The version keeps both lists in step.
export const ROLES = 'SELECT 1';
