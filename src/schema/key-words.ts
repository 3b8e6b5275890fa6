// Scopes and forms of keys: apart from their schemas, as commands name them that do without schemas.

/** Each includes those before it. */
export const KEY_SCOPES = ['read', 'use', 'admin'] as const;
export type KeyScope = (typeof KEY_SCOPES)[number];

/** `e2b` is the form that older SDKs of E2B check: `e2b_` and 40 hexadecimal digits. */
export const KEY_FORMATS = ['svc', 'e2b'] as const;
export type KeyFormat = (typeof KEY_FORMATS)[number];
