// A key that nobody else has. Browsers have randomUUID for pages over HTTPS and of the same machine alone.

export const randomKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  );
