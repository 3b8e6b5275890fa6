// Tickets are tables of PostgreSQL only: one process has its queue in memory. The version keeps both lists in step.
export const TICKETS = 'SELECT 1';
