// Rules about who may call: keys, administrators, owners.
import { parseDuration } from '../../../domain/duration.ts';
import { ENOUGH_BITS, isPlaceholder, keyBits } from '../key-strength.ts';
import { findingIf, type LintFacts, type LintRule, type RuleFinding } from '../rule.ts';

const DAY_MS = 86_400_000;
const FRESH_KEY = 'openssl rand -base64 32';

/** A fault for each known secret that is `bad`. */
function badSecrets(
  { secrets }: LintFacts,
  bad: (secret: string) => boolean,
  message: (key: string) => string,
): RuleFinding[] {
  return secrets.flatMap(({ key, secret }) => (bad(secret) ? [{ key, message: message(key) }] : []));
}

/** Secrets that an earlier one equals. */
function repeatedSecrets({ secrets }: LintFacts): RuleFinding[] {
  return secrets.flatMap(({ key, secret }) => {
    const twin = secrets.find((each) => each.secret === secret);
    return twin && twin.key !== key ? [{ key, message: `${key} is the same as ${twin.key}.` }] : [];
  });
}

export const AUTH_RULES: readonly LintRule[] = [
  {
    id: 'SVC101',
    topic: 'auth',
    key: 'auth.enabled',
    title: 'Calls need no key.',
    why: 'Whoever reaches the port runs code on this machine and sees, changes and destroys what others run. A web page or another program on the same host reaches loopback, too.',
    remedy: 'Set auth.enabled to true, and auth.api_key_file and auth.admin_api_key_file.',
    example:
      'auth:\n  enabled: true\n  api_key_file: /etc/svc/api_key\n  admin_api_key_file: /etc/svc/admin_api_key\n',
    level: 'off',
    production: 'error',
    check: ({ config }) => findingIf(!config.auth.enabled),
  },
  {
    id: 'SVC102',
    topic: 'auth',
    key: 'auth.api_key',
    title: 'A key is too easy to guess.',
    why: 'A key that is short, or long and repetitive, can be found by trying. What counts is how much there is to guess: repetitions, runs and sequences add nothing, and 32 random bytes in any writing are enough.',
    remedy: `Make a new one: ${FRESH_KEY}`,
    example: 'auth:\n  enabled: true\n  api_key_file: /etc/svc/api_key\n',
    level: 'warning',
    production: 'error',
    check: (facts) =>
      badSecrets(
        facts,
        (secret) => !isPlaceholder(secret) && keyBits(secret) < ENOUGH_BITS,
        (key) => `${key} is weaker than 32 random bytes.`,
      ),
  },
  {
    id: 'SVC103',
    topic: 'auth',
    key: 'auth.api_key',
    title: 'A key is a placeholder.',
    why: 'Keys such as `changeme` are in every list that guessers use, and in the documentation that they were copied from.',
    remedy: `Make a key of its own: ${FRESH_KEY}`,
    example: 'auth:\n  enabled: true\n  api_key_file: /etc/svc/api_key\n',
    level: 'error',
    production: 'error',
    check: (facts) => badSecrets(facts, isPlaceholder, (key) => `${key} is a placeholder, not a key.`),
  },
  {
    id: 'SVC104',
    topic: 'auth',
    key: 'auth.admin_api_key',
    title: 'Two keys are the same.',
    why: 'A key for two purposes gives both to whoever has it: each client is then an administrator, can sign links, or is another worker. Neither can be changed without the other.',
    remedy: `Make a key for each purpose: ${FRESH_KEY}`,
    example:
      'auth:\n  enabled: true\n  api_key_file: /etc/svc/api_key\n  admin_api_key_file: /etc/svc/admin_api_key\n',
    level: 'warning',
    production: 'error',
    check: repeatedSecrets,
  },
  {
    id: 'SVC105',
    topic: 'auth',
    key: 'auth.admin_fallback_enabled',
    title: 'The API key is the key of administrators, too.',
    why: 'Without an admin key every client that may run a sandbox may read the diagnostics and the audit, prune, and change what others run. The fallback also comes back silently when the admin key gets lost.',
    remedy: 'Set auth.admin_fallback_enabled to false and auth.admin_api_key_file.',
    example:
      'auth:\n  enabled: true\n  api_key_file: /etc/svc/api_key\n  admin_api_key_file: /etc/svc/admin_api_key\n  admin_fallback_enabled: false\n',
    level: 'off',
    production: 'error',
    check: ({ config: { auth } }) =>
      findingIf(
        auth.admin_fallback_enabled,
        auth.admin_api_key === undefined
          ? {}
          : { message: 'The API key becomes the key of administrators when the admin key is lost.' },
      ),
  },
  {
    id: 'SVC106',
    topic: 'auth',
    key: 'auth.admin_api_key',
    title: 'Nobody can administer the service.',
    why: 'There is no admin key and no fallback to the API key: diagnostics, the audit and pruning answer everybody with a refusal, also when they are needed.',
    remedy: 'Set auth.admin_api_key_file.',
    example:
      'auth:\n  enabled: true\n  api_key_file: /etc/svc/api_key\n  admin_api_key_file: /etc/svc/admin_api_key\n  admin_fallback_enabled: false\n',
    level: 'warning',
    production: 'warning',
    check: ({ config: { auth } }) =>
      findingIf(!auth.admin_fallback_enabled && auth.admin_api_key === undefined),
  },
  {
    id: 'SVC107',
    topic: 'auth',
    key: 'auth.admin_audit_retention',
    title: 'The audit of administrators is forgotten within a day.',
    why: 'Who did what is asked after something went wrong, mostly days later.',
    remedy: 'Set auth.admin_audit_retention to some weeks, such as 2160h.',
    example: 'auth:\n  admin_audit_retention: 2160h\n',
    level: 'warning',
    production: 'error',
    check: ({ config }) => findingIf(parseDuration(config.auth.admin_audit_retention, '') < DAY_MS),
  },
  {
    id: 'SVC108',
    topic: 'auth',
    key: 'auth.quota_writes',
    title: 'Owners may change their own quotas.',
    why: 'Owners are kept apart, yet each may raise the number of sandboxes, the lifetime and the deadlines it is allowed.',
    remedy: 'Set auth.quota_writes to admin.',
    example: 'auth:\n  enforce_owner: true\n  quota_writes: admin\n',
    level: 'warning',
    production: 'error',
    check: ({ config: { auth } }) => findingIf(auth.enforce_owner && auth.quota_writes === 'api'),
  },
  {
    id: 'SVC109',
    topic: 'auth',
    key: 'auth.enforce_owner',
    title: 'Owners are kept apart by a header that anybody can send.',
    why: 'Without authentication X-User-ID proves nothing: any caller is any owner.',
    remedy: 'Set auth.enabled to true.',
    example:
      'auth:\n  enabled: true\n  api_key_file: /etc/svc/api_key\n  enforce_owner: true\n  quota_writes: admin\n',
    level: 'warning',
    production: 'error',
    check: ({ config: { auth } }) => findingIf(auth.enforce_owner && !auth.enabled),
  },
  {
    id: 'SVC110',
    topic: 'auth',
    key: 'auth.worker_token',
    title: 'All workers have the same token.',
    why: 'Each worker can then speak for every other one: take over its leases, and have its sandboxes given to itself. A token that leaks from one host has to be changed on all.',
    remedy:
      'Set auth.worker_signing_key_file, and give each worker what `svc worker token create` makes from it.',
    example: 'auth:\n  worker_signing_key_file: /etc/svc/worker-signing-key\n',
    level: 'off',
    production: 'error',
    // In the configuration of a worker the key holds the secret of that one.
    check: ({ config: { auth, worker } }) =>
      findingIf(worker.control_plane_url === '' && auth.worker_token !== undefined),
  },
  {
    id: 'SVC111',
    topic: 'auth',
    key: 'auth.admin_api_key',
    title: 'Every owner has the key of administrators, and nobody may share templates.',
    why: 'Owners are kept apart, yet without an admin key the API key that all of them have opens the admin routes. It does not open what belongs to all: templates that all owners share can be made, changed and deleted with an admin key alone.',
    remedy: 'Set auth.admin_api_key_file.',
    example:
      'auth:\n  enabled: true\n  api_key_file: /etc/svc/api_key\n  admin_api_key_file: /etc/svc/admin_api_key\n  enforce_owner: true\n  quota_writes: admin\n',
    level: 'warning',
    production: 'error',
    // SVC106 and SVC109 say what else is wrong where there is no fallback, or no authentication.
    check: ({ config: { auth } }) =>
      findingIf(
        auth.enabled && auth.enforce_owner && auth.admin_fallback_enabled && auth.admin_api_key === undefined,
      ),
  },
];
