// Owners as workers know them: apart from each other, without their names.
import { createHash } from 'node:crypto';

/** Undefined where nobody is kept apart. */
export const accountOnWorkers = (owner: string | undefined): string | undefined =>
  owner === undefined ? undefined : createHash('sha256').update(`account ${owner}`).digest('hex');
