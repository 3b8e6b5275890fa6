// The image of the store that a sandbox runs on, and what spawns from a template do about a missing image.
export const IMAGE_DIGESTS = `
ALTER TABLE sandboxes ADD COLUMN image_digest TEXT;
ALTER TABLE warm_sandboxes ADD COLUMN image_digest TEXT;
ALTER TABLE templates ADD COLUMN pull TEXT;
`;
