// A function of PostgreSQL changes only: here a row is written with all of its columns. The version keeps both lists in step.
export const PREWARMED_EGRESS = 'SELECT 1';
