// Actors (docs/design/api.md#actors): on events, and for sandboxes the one that spawned and the one that ended them.
export const ACTORS = `
ALTER TABLE events ADD COLUMN actor TEXT;
ALTER TABLE sandboxes ADD COLUMN created_by TEXT;
ALTER TABLE sandboxes ADD COLUMN ended_by TEXT;
`;
