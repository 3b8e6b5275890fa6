// The months that the ledger may have, the present one first, in UTC.

const MOST = 12;

export function months(now = new Date()): string[] {
  return Array.from({ length: MOST }, (_, back) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back)).toISOString().slice(0, 7),
  );
}
