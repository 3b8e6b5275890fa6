// Kinds of providers whose sandboxes only the server or worker that started them can reach.
export const LOCAL_KINDS = ['container', 'userspace', 'microvm'] as const;

export const isLocal = (kind: string): boolean => LOCAL_KINDS.some((each) => each === kind);
