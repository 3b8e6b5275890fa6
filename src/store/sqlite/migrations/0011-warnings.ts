// How what runs differs from what was asked, as long as the sandbox is remembered.
export const WARNINGS = `
ALTER TABLE sandboxes ADD COLUMN warnings TEXT NOT NULL DEFAULT '[]';
`;
