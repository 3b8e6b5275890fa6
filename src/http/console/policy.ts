// The headers of the console's page and of its files. The policy allows what is built into the package and nothing else: no
// inline script, no other origin, no frame (docs/console.md#policy).

const COMMON = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Frame-Options': 'DENY',
  'X-Robots-Tag': 'noindex',
  'Permissions-Policy': 'clipboard-write=(self), camera=(), geolocation=(), microphone=()',
} as const;

/** `nonce` admits the style elements of the terminal. */
export function pageHeaders(nonce: string): Record<string, string> {
  return {
    ...COMMON,
    'Content-Type': 'text/html; charset=utf-8',
    'Cache-Control': 'no-store',
    'Content-Security-Policy': [
      "default-src 'none'",
      "script-src 'self'",
      `style-src 'self' 'nonce-${nonce}'`,
      "img-src 'self' data:",
      "connect-src 'self'",
      "font-src 'none'",
      "base-uri 'self'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ].join('; '),
  };
}

/** Names of files contain a hash of their content, so that a browser keeps them. */
export function assetHeaders(type: string, etag: string): Record<string, string> {
  return {
    ...COMMON,
    'Content-Type': type,
    'Cache-Control': 'public, max-age=31536000, immutable',
    ETag: etag,
    Vary: 'Accept-Encoding',
  };
}
