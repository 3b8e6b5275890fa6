// The ways in which a known secret shows up in text: as it is, inside JSON, in a URL, and in base64, where it looks
// different at each of three offsets (`user:secret` of a Basic header shifts it).

const SHORTEST_FORM = 6;

/** All forms of `secret`, itself first. Forms too short to be told from ordinary text are left out. */
export function encodedForms(secret: string): string[] {
  const bytes = Buffer.from(secret, 'utf8');
  // A lone surrogate cannot be URL-encoded; bytes hold none.
  const url = encodeURIComponent(bytes.toString('utf8'));
  const others = [
    JSON.stringify(secret).slice(1, -1),
    url,
    url.replaceAll('%20', '+'),
    ...[0, 1, 2].flatMap((offset) => base64Core(bytes, offset)),
  ];
  return [secret, ...others.filter((form) => form.length >= SHORTEST_FORM)];
}

/** The characters of base64, in both alphabets, that depend on `bytes` alone when `offset` bytes stand before them. */
function base64Core(bytes: Buffer, offset: number): string[] {
  const padded = Buffer.concat([Buffer.alloc(offset), bytes]);
  const start = Math.ceil((offset * 8) / 6);
  const end = Math.floor((padded.length * 8) / 6);
  const core = padded.toString('base64').slice(start, end);
  return [core, core.replaceAll('+', '-').replaceAll('/', '_')];
}
