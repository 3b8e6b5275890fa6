// Egress policies of sandboxes, templates and owners, as JSON.
export const EGRESS = `
ALTER TABLE sandboxes ADD COLUMN egress TEXT;
ALTER TABLE templates ADD COLUMN egress TEXT;
ALTER TABLE owner_quotas ADD COLUMN egress TEXT;
`;
