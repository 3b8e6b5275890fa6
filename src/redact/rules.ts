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
  /** The pattern is tried only if the text contains one of these. For patterns without a common start. */
  needs?: readonly string[];
  pattern: RegExp;
  /** The replacement; `$1` keeps a group. The rest of a match is the secret. */
  replacement: string;
}

const QUOTED_OR_WORD = String.raw`(?:\\"(?:[^"\\\n]|\\[^"])*|"(?:[^"\\\n]|\\.)*|'(?:[^'\\\n]|\\.)*|[^\s"'\\,;&)}\]]+)`;
const ASSIGNED = String.raw`(\\?["']?\s{0,4}[=:](?!\s{0,4}\\?["']?\[redacted)\s{0,4})`;
const SECRET_NAMES =
  'api[_-]?key|secret|token|password|passwd|pwd|passphrase|credentials?|(?:private|secret|access|signing|encryption)[_-]?key';

/**
 * Matches everything that a rule below can match, because most texts of a log are short and harmless. Add the start of each
 * new rule here. A name counts only before what can follow it: `api:X-API-Key` is the actor of most requests.
 */
export const HINT =
  /eyJ|:\/\/|bearer|basic |private key|(?:authorization|cookie|key|secret|token|passw(?:or)?d|passphrase|pwd|credentials?)[\s\\"'=:]|sk-|[srp]k_|gh[opsur]_|github_pat_|glpat-|xox|a[ks]ia|npm_|e2b_|svc[cs_]|aiza|dckr_pat_|hf_|sg\.|ya29\.|pypi-/i;

export const TEXT_RULES: readonly TextRule[] = [
  {
    id: 'private-key',
    pattern:
      /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?:[^-]|-(?!----))*(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----)?/g,
    replacement: MASK,
  },
  {
    id: 'jwt',
    pattern: /(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?/g,
    replacement: MASK,
  },
  {
    id: 'url-credentials',
    pattern: /(:\/\/)(?!\[redacted)[^\s/?#"'<>\\]{1,1024}@/g,
    replacement: `$1${MASK}@`,
  },
  {
    id: 'bearer',
    pattern: /(\bbearer\s{1,4})(?!\[redacted)[\w.~+/=-]{6,}/gi,
    replacement: `$1${MASK}`,
  },
  {
    id: 'basic',
    pattern: /(\b[Bb]asic {1,4})(?=[a-z+/]{0,64}[A-Z0-9=])[A-Za-z0-9+/]{6,}={0,2}/g,
    replacement: `$1${MASK}`,
  },
  {
    id: 'header',
    pattern: new RegExp(`((?:authorization|cookie))${ASSIGNED}\\\\?["']?[^"'\\\\\\r\\n]+`, 'gi'),
    replacement: `$1$2${MASK}`,
  },
  {
    id: 'vendor-key',
    needs: [
      'sk-',
      'sk_',
      'pk_',
      'rk_',
      'ghp_',
      'gho_',
      'ghs_',
      'ghu_',
      'ghr_',
      'github_pat_',
      'glpat-',
      'xox',
      'AKIA',
      'ASIA',
      'AIza',
      'npm_',
      'e2b_',
      'svc_',
      'svcs_',
      'svcc_',
      'dckr_pat_',
      'hf_',
      'SG.',
      'ya29.',
      'pypi-',
    ],
    pattern:
      /(?<![A-Za-z0-9])(?:sk-[\w-]{16,}|[srp]k_(?:live|test)_\w{10,}|gh[opsur]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeoprs]-[\w-]{10,}|A[KS]IA[A-Z0-9]{16}|AIza[\w-]{30,}|npm_\w{30,}|e2b_\w{16,}|svc_[0-9A-Za-z]{49}(?![0-9A-Za-z])|svcs_[\w-]{43}|svcc_[\w-]{32,}|dckr_pat_[\w-]{16,}|hf_\w{20,}|SG\.[\w.-]{30,}|ya29\.[\w-]{20,}|pypi-[\w-]{30,})/g,
    replacement: MASK,
  },
  {
    id: 'assignment',
    pattern: new RegExp(`(${SECRET_NAMES})${ASSIGNED}${QUOTED_OR_WORD}`, 'gi'),
    replacement: `$1$2${MASK}`,
  },
  {
    // Of a command line: `--db-password VALUE`. With `=` it is an assignment.
    id: 'option',
    needs: ['--'],
    pattern: new RegExp(
      `(--(?:[a-z0-9]{1,32}[_-]){0,4}(?:${SECRET_NAMES})\\s{1,4})(?!\\[redacted)(?!--)${QUOTED_OR_WORD}`,
      'gi',
    ),
    replacement: `$1${MASK}`,
  },
];
