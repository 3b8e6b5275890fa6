// The encodings in which a known secret can appear in text: plain, JSON, URL, and base64, which differs at each of three
// offsets (`user:secret` of a Basic header shifts it).

const SHORTEST_FORM = 6;

/** All forms of `secret`, itself first. Omits forms that are too short to differ from ordinary text. */
export function encodedForms(secret: string): string[] {
  const bytes = Buffer.from(secret, 'utf8');
  // The round trip removes lone surrogates, which cannot be URL-encoded.
  const url = encodeURIComponent(bytes.toString('utf8'));
  const others = [
    JSON.stringify(secret).slice(1, -1),
    url,
    url.replaceAll('%20', '+'),
    ...[0, 1, 2].flatMap((offset) => base64Core(bytes, offset)),
  ];
  return [secret, ...others.filter((form) => form.length >= SHORTEST_FORM)];
}

/** The base64 characters, in both alphabets, that depend only on `bytes` after `offset` other bytes. */
function base64Core(bytes: Buffer, offset: number): string[] {
  const padded = Buffer.concat([Buffer.alloc(offset), bytes]);
  const start = Math.ceil((offset * 8) / 6);
  const end = Math.floor((padded.length * 8) / 6);
  const core = padded.toString('base64').slice(start, end);
  return [core, core.replaceAll('+', '-').replaceAll('/', '_')];
}
