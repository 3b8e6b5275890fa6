// How admissions are joined is a matter of PostgreSQL only. The version keeps both lists in step.
export const JOINED_ADMISSIONS = 'SELECT 1';
