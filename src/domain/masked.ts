// How the service shows that a value exists and may not be seen.

/** Replaces values that the reader may not see. */
export const MASKED = '***';
