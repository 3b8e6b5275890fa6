// Who acted (docs/design/api.md#actors): on events, and on sandboxes who spawned and who ended them.
export const ACTORS = `
ALTER TABLE events ADD COLUMN actor TEXT;
ALTER TABLE sandboxes ADD COLUMN created_by TEXT;
ALTER TABLE sandboxes ADD COLUMN ended_by TEXT;
`;
