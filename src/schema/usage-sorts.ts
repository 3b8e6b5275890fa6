// Orders of usage: apart from its schemas, as commands name them that do without schemas.
export const OWNER_SORTS = ['cpu', 'memory', 'network', 'sandboxes'] as const;

export const LIVE_SORTS = ['cpu', 'memory', 'network', 'disk', 'age'] as const;
export type LiveSort = (typeof LIVE_SORTS)[number];
