// Labels of workers, and what templates demand of the workers of their sandboxes.
export const WORKER_LABELS = `
ALTER TABLE workers ADD COLUMN labels TEXT NOT NULL DEFAULT '{}';
ALTER TABLE templates ADD COLUMN worker_id TEXT;
ALTER TABLE templates ADD COLUMN worker_labels TEXT NOT NULL DEFAULT '{}';
`;
