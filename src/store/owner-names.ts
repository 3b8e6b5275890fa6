// The names of all owners, in both databases: from one name to the next by the indexes that begin with the owner, so that a page takes
// a few look-ups for each name, however many rows there are.

const TABLES = ['owner_quotas', 'sandboxes', 'usage_hours'];

const next = (after: string) => {
  const firsts = TABLES.map(
    (table) => `(SELECT min(owner_id) AS owner FROM ${table} WHERE owner_id > ${after})`,
  );
  return `(SELECT min(owner) FROM (${firsts.map((first) => `SELECT owner FROM ${first} AS one`).join(' UNION ALL ')}) AS firsts)`;
};

/** A query of `most` names after `after`, by their bytes. Both are parameters of the statement. */
export const OWNERS = (after: string, most: string): string =>
  `WITH RECURSIVE names (owner) AS (
    SELECT ${next(after)} UNION ALL SELECT ${next('names.owner')} FROM names WHERE names.owner IS NOT NULL)
  SELECT owner FROM names WHERE owner IS NOT NULL LIMIT ${most}`;
