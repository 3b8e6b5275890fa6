// Texts that parsers of `domain/` and `agent/` read, as patterns for the API description. Each allows what its parser takes
// and nothing that it refuses; test/unit/schema/text-rules.test.ts holds the two together. Written for every dialect of
// regular expressions that generators of clients and of tests know: no classes of Unicode, no look-around.
import { Type } from 'typebox';
import { described, type NamedRules } from './described.ts';

const named = (title: string, rules: object): NamedRules => ({ title, type: 'string', ...rules });

/** At most 8193h in each form: `8h`, `8h9999m99999s`, `99999m999999s`. */
const SHORT = [
  '(?:[0-9]{1,3}|[1-7][0-9]{3})h(?:[0-9]{1,4}m)?(?:[0-9]{1,5}s)?',
  '[0-9]{1,5}m(?:[0-9]{1,6}s)?',
  '[0-9]{1,7}s',
].join('|');
/** At most 8760h in each form: `8760h`, `31536000s`. */
const DURATION = [
  SHORT,
  '(?:8[0-6][0-9]{2}|87[0-5][0-9]|8760)h',
  '(?:[1-4][0-9]{5}|5[01][0-9]{4}|52[0-4][0-9]{3}|525[0-5][0-9]{2}|525600)m',
  '(?:[12][0-9]{7}|30[0-9]{6}|31[0-4][0-9]{5}|315[0-2][0-9]{4}|3153[0-5][0-9]{3}|31536000)s',
].join('|');

export const Duration = named('Duration', {
  pattern: `^(?:${DURATION})$`,
  description:
    'Integer hours, minutes and seconds, each once and in this order: 90s, 30m, 1h30m. At most 8760h.',
});
/** As many milliseconds are 277h. */
export const FineDuration = named('FineDuration', {
  pattern: `^(?:${DURATION}|(?:${SHORT})?[0-9]{1,9}ms)$`,
  description:
    'Integer hours, minutes, seconds and milliseconds, each once and in this order: 500ms, 90s, 1h30m. At most 8760h.',
});
export const PositiveDuration = named('PositiveDuration', {
  pattern: `^(?:${DURATION})$`,
  not: { pattern: '^[0hms]*$' },
  description: 'A duration of at least 1s: 90s, 30m, 1h30m. At most 8760h.',
});

/** A text that holds `schema`'s duration. */
export function duration(description: string, kind = Duration) {
  return described(Type.String({ maxLength: 64, description, examples: ['90s'] }), kind);
}

/** As domain/owner.ts forbids: what is not seen, what parts paths. Beyond the Basic Multilingual Plane as characters. */
const NOT_IN_OWNERS = [
  '\\u0000-\\u0020/\\\\\\u007f-\\u00a0\\u00ad\\u034f\\u0600-\\u0605\\u061c\\u06dd\\u070f\\u0890-\\u0891\\u08e2',
  '\\u115f-\\u1160\\u1680\\u17b4-\\u17b5\\u180b-\\u180f\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u2800\\u3000',
  '\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb',
  '\u{110bd}\u{110cd}\u{13430}-\u{1343f}\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}',
].join('');

export const Owner = named('Owner', {
  pattern: `^[\\t\\n\\u000b\\u000c\\r ]*[^${NOT_IN_OWNERS}]{1,128}[\\t\\n\\u000b\\u000c\\r ]*$`,
  description:
    'Surrounding white space is removed. 1 to 128 characters without white space, control and invisible characters, / and \\.',
});

/** Days are not counted by month: the 31st of a short one is a day of the next. */
const DAY = '[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])';
const TIME =
  '(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\\.[0-9]{1,9})?)?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])';
export const Moment = named('Moment', {
  pattern: `^${DAY}(?:T${TIME})?$`,
  description: 'A date, or a time with its offset from UTC: 2026-01-31, 2026-01-31T12:00:00Z.',
});

const MONTH = '(?:19[7-9]|2[01][0-9])[0-9]-(?:0[1-9]|1[0-2])';
const DAY_OF_MONTH = `${MONTH}-(?:0[1-9]|[12][0-9]|3[01])`;
export const UsageTime = named('UsageTime', {
  pattern: `^(?:${MONTH}|${DAY_OF_MONTH}(?:T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,3})?Z)?|[1-9][0-9]{0,3}h)$`,
  description:
    'A month, a day, a time in UTC, or hours back: 2026-01, 2026-01-31, 2026-01-31T12:00:00Z, 24h.',
});

/** No NUL, and at most `most` bytes of UTF-8: what has more characters than a quarter of that is ASCII. As what must not be: a
 * pattern that says the same makes generators of tests ten times slower. */
const bytes = (most: number) => ({
  maxLength: most,
  not: {
    anyOf: [{ pattern: '\\u0000' }, { minLength: Math.floor(most / 4) + 1, pattern: '[^\\u0000-\\u007f]' }],
  },
});

export const AbsolutePath = named('AbsolutePath', {
  pattern: '^/',
  ...bytes(4096),
  description: 'Starts with a slash; at most 4096 bytes of UTF-8, without NUL.',
});

/** The same without the slash, which the path of the request has. */
export const RelativePath = named('RelativePath', {
  ...bytes(4095),
  description: 'At most 4095 bytes of UTF-8, without NUL.',
});

export const Image = named('Image', {
  pattern: '^[A-Za-z0-9][A-Za-z0-9._/:@+-]{0,511}$',
  description: 'A reference such as alpine:latest or registry.example:5000/team/app@sha256:….',
});

/** What the kernel takes as one argument, its closing NUL counted. */
const ONE_ARGUMENT = 131_071;
export const Argument = named('Argument', {
  ...bytes(ONE_ARGUMENT),
  description: 'At most 131071 bytes of UTF-8, without NUL.',
});
export const CommandLine = named('CommandLine', {
  pattern: '[^\\u0000-\\u0020\\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff]',
  ...bytes(ONE_ARGUMENT),
  description: 'At most 131071 bytes of UTF-8 with its arguments, not blank, without NUL.',
});
/** Beside a name of 256 characters and the equals sign. */
export const EnvValue = named('EnvValue', {
  ...bytes(ONE_ARGUMENT - 257),
  description: 'At most 131071 bytes of UTF-8 with its name, without NUL.',
});

/** Standard alphabet with padding; bits that are left over are 0. */
export const BASE64 = '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$';

/** Base64url of a time stamp, a blank and an id: at least 26 bytes. */
export const Cursor = named('Cursor', {
  pattern: '^[A-Za-z0-9_-]{35,}$',
  description: 'The X-Next-Cursor header of the previous page, unchanged. Clients must not build cursors.',
});
/** Base64url of a reference, a blank and the id of a worker. */
export const ImageCursor = named('ImageCursor', {
  pattern: '^[A-Za-z0-9_-]{4,}$',
  description:
    'The X-Next-Cursor header of the previous page of images, unchanged. Clients must not build cursors.',
});

/** Base64url of an owner. */
export const OwnerCursor = named('OwnerCursor', {
  pattern: '^[A-Za-z0-9_-]{2,}$',
  description:
    'The X-Next-Cursor header of the previous page of owners, unchanged. Clients must not build cursors.',
});

/** Base64url of a path. */
export const FileCursor = named('FileCursor', {
  pattern: '^[A-Za-z0-9_-]{2,}$',
  description:
    'The X-Next-Cursor header of the previous page of the folder, unchanged. Clients must not build cursors.',
});

/** What is a host, the URL standard and IDNA say: no pattern does, and answers repeat what callers gave. */
export const EgressRule = named('EgressRule', {
  description:
    'A name, *.name, *, an address or a CIDR block, with :port, :from-to or :*; IPv6 in brackets; or @group.',
  examples: ['*.example.com', 'example.com:443', '203.0.113.0/24', '[2001:db8::/32]:8000-8100', '@packages'],
});
export const EgressTarget = named('EgressTarget', {
  description: 'A name or an address, as a program would connect to it.',
  examples: ['example.com', '203.0.113.7'],
});
/** Hosts of credentials; the first of a list is a name. */
export const CredentialHost = named('CredentialHost', {
  description: 'A name, *.name or name:port.',
  examples: ['api.example.com', 'api.example.com:8443'],
});
export const CredentialFormat = named('CredentialFormat', {
  pattern: '^[ -~]*\\{value\\}[ -~]*$',
  not: { pattern: '\\{value\\}.*\\{value\\}' },
  description: 'ASCII with {value} in it once.',
});

export const ByteRate = named('ByteRate', {
  pattern: '^[1-9][0-9]{0,5}(?:B|KiB|MiB|GiB)/s$',
  description: 'Bytes a second: 500KiB/s, 20MiB/s.',
});
