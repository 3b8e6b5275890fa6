// How the wall clock stood to a clock that nobody sets (seam/clock.ts): one row at most.
export const CLOCK = `
CREATE TABLE clock_mark (
  one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  boot_id TEXT NOT NULL,
  distance_ms INTEGER NOT NULL
) STRICT;
`;
