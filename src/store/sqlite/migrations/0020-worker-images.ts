// Images that workers have, for the choice among them.
export const WORKER_IMAGES = `
ALTER TABLE workers ADD COLUMN images TEXT NOT NULL DEFAULT '[]';
`;
