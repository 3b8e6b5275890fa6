// Rules for unknown secrets: names of keys and patterns in text. Data for engine.ts. Every pattern must take linear time on any
// input: it starts with a literal, a part that can be long comes last or stops at the first character of the next part, and
// nothing that must follow a long part can be missing.

export const MASK = '[redacted]';

/**
 * Ends of key names, in lower case without separators: `X-API-Key`, `workerToken` and `db_password` all end in one. So
 * does `api_key_previous`, apart from its last word.
 */
const SECRET_KEY_ENDS = [
  'apikey',
  'secret',
  'secrets',
  'token',
  'tokens',
  'password',
  'passwords',
  'passwd',
  'pwd',
  'passphrase',
  'credential',
  'credentials',
  'privatekey',
  'secretkey',
  'accesskey',
  'signingkey',
  'encryptionkey',
  'authorization',
  'cookie',
];

const LONGEST_KEY = 256;

/** Caches verdicts, because key names repeat. */
const judged = new Map<string, boolean>();
const MOST_JUDGED = 1000;

/** Whether a key of this name usually holds a secret. */
export function isSecretKey(name: string): boolean {
  if (name.length > LONGEST_KEY) return true;
  const known = judged.get(name);
  if (known !== undefined) return known;
  const verdict = endsSecret(name);
  if (judged.size < MOST_JUDGED) judged.set(name, verdict);
  return verdict;
}

function endsSecret(name: string): boolean {
  const plain = name
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '')
    .replace(/previous$/, '');
  return SECRET_KEY_ENDS.some((end) => plain.endsWith(end));
}

export interface TextRule {
  id: string;
  /** A part that every match contains, and that is found sooner than a match: rare characters first. */
  hint: RegExp;
  /** Its first group, if it has one, is what stays before the secret. */
  pattern: RegExp;
  /** What the match contains after the secret. */
  after?: string;
}

const QUOTED_OR_WORD = String.raw`(?:\\"(?:[^"\\\n]|\\[^"])*|"(?:[^"\\\n]|\\.)*|'(?:[^'\\\n]|\\.)*|[^\s"'\\,;&)}\]]+)`;
const ASSIGNED = String.raw`\\?["']?\s{0,4}[=:](?!\s{0,4}\\?["']?\[redacted)\s{0,4}`;
const SECRET_NAMES =
  'api[_-]?key|secret|token|password|passwd|pwd|passphrase|credentials?|(?:private|secret|access|signing|encryption)[_-]?key';

/** What can follow a name. `api:X-API-Key` is the actor of most requests, and not an assignment. */
const AFTER_NAME = String.raw`[\s\\"'=:]`;

export const TEXT_RULES: readonly TextRule[] = [
  {
    id: 'private-key',
    hint: /PRIVATE KEY-/,
    pattern:
      /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?:[^-]|-(?!----))*(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----)?/g,
  },
  {
    id: 'jwt',
    hint: /yJ/,
    pattern: /(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?/g,
  },
  {
    id: 'url-credentials',
    hint: /@/,
    pattern: /(:\/\/)(?!\[redacted)[^\s/?#"'<>\\]{1,1024}@/g,
    after: '@',
  },
  {
    id: 'bearer',
    hint: /bearer\s/i,
    pattern: /(\bbearer\s{1,4})(?!\[redacted)[\w.~+/=-]{6,}/gi,
  },
  {
    id: 'basic',
    hint: /asic /,
    pattern: /(\b[Bb]asic {1,4})(?=[a-z+/]{0,64}[A-Z0-9=])[A-Za-z0-9+/]{6,}={0,2}/g,
  },
  {
    id: 'header',
    hint: new RegExp(`(?:authorization|cookie)${AFTER_NAME}`, 'i'),
    pattern: new RegExp(`((?:authorization|cookie)${ASSIGNED})\\\\?["']?[^"'\\\\\\r\\n]+`, 'gi'),
  },
  {
    id: 'vendor-key',
    hint: /k[-_]|gh[opsur]_|hub_|glpat-|xox|[KS]IA|npm_|2b_|vc[cs_]|AIza|hf_|SG\.|a29\.|ypi-|ckr_/,
    pattern:
      /(?<![A-Za-z0-9])(?:sk-[\w-]{16,}|[srp]k_(?:live|test)_\w{10,}|gh[opsur]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeoprs]-[\w-]{10,}|A[KS]IA[A-Z0-9]{16}|AIza[\w-]{30,}|npm_\w{30,}|e2b_\w{16,}|svc_[0-9A-Za-z]{49}(?![0-9A-Za-z])|svcs_[\w-]{43}|svcc_[\w-]{32,}|dckr_pat_[\w-]{16,}|hf_\w{20,}|SG\.[\w.-]{30,}|ya29\.[\w-]{20,}|pypi-[\w-]{30,})/g,
  },
  {
    id: 'assignment',
    hint: new RegExp(`(?:key|secret|token|passw(?:or)?d|passphrase|pwd|credentials?)${AFTER_NAME}`, 'i'),
    pattern: new RegExp(`((?:${SECRET_NAMES})${ASSIGNED})${QUOTED_OR_WORD}`, 'gi'),
  },
  {
    // Of a command line: `--db-password VALUE`. With `=` it is an assignment.
    id: 'option',
    hint: /--/,
    pattern: new RegExp(
      `(--(?:[a-z0-9]{1,32}[_-]){0,4}(?:${SECRET_NAMES})\\s{1,4})(?!\\[redacted)(?!--)${QUOTED_OR_WORD}`,
      'gi',
    ),
  },
];

/**
 * Two patterns that together match wherever a hint does. To ignore case makes a pattern slow, so only one of them does.
 */
export const HINTS = [false, true].map((ignoreCase) => {
  const hints = TEXT_RULES.filter(({ hint }) => hint.ignoreCase === ignoreCase);
  return new RegExp(hints.map(({ hint }) => hint.source).join('|'), ignoreCase ? 'i' : '');
});
