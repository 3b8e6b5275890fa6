// Rules about who may call: keys, administrators, owners.
import { ignoresKey } from '../../../config/ignored-key.ts';
import { parseDuration } from '../../../domain/duration.ts';
import { ENOUGH_BITS, isPlaceholder, keyBits } from '../key-strength.ts';
import { findingIf, type LintFacts, type RuleFinding, rulesOf } from '../rule.ts';

const DAY_MS = 86_400_000;
/** An hour of 27 calls a second. */
const LEAST_RECORDS = 100_000;
const PREVIOUS_KEYS = ['auth.api_key_previous', 'auth.admin_api_key_previous'];
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

export const AUTH_RULES = rulesOf('auth', [
  {
    id: 'SVC101',
    key: 'auth.enabled',
    title: 'Calls do not require a key.',
    why: 'Everyone who can reach the port can run code on this machine and can read, change and destroy the sandboxes of others. Web pages and other programs on the same host can also reach loopback addresses.',
    remedy: 'Set auth.enabled to true, and set auth.api_key_file and auth.admin_api_key_file.',
    example:
      'auth:\n  enabled: true\n  api_key_file: /etc/svc/api_key\n  admin_api_key_file: /etc/svc/admin_api_key\n',
    level: 'off',
    production: 'error',
    check: ({ config }) => findingIf(!config.auth.enabled),
  },
  {
    id: 'SVC102',
    key: 'auth.api_key',
    title: 'A key is too easy to guess.',
    why: 'An attacker can find a short or repetitive key by trying. Lint measures the entropy: repetitions, runs and sequences add nothing, and 32 random bytes in any encoding are enough.',
    remedy: `Generate a new key: ${FRESH_KEY}`,
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
    key: 'auth.api_key',
    title: 'A key is a placeholder.',
    why: 'Keys such as `changeme` are in every password list and in public documentation.',
    remedy: `Generate a key: ${FRESH_KEY}`,
    example: 'auth:\n  enabled: true\n  api_key_file: /etc/svc/api_key\n',
    level: 'error',
    production: 'error',
    check: (facts) => badSecrets(facts, isPlaceholder, (key) => `${key} is a placeholder, not a key.`),
  },
  {
    id: 'SVC104',
    key: 'auth.admin_api_key',
    title: 'Two keys are the same.',
    why: 'Everyone who has the key has the rights of both purposes: a client is also an administrator, can sign links, or can act as another worker. Neither key can change without the other.',
    remedy: `Generate a separate key for each purpose: ${FRESH_KEY}`,
    example:
      'auth:\n  enabled: true\n  api_key_file: /etc/svc/api_key\n  admin_api_key_file: /etc/svc/admin_api_key\n',
    level: 'warning',
    production: 'error',
    check: repeatedSecrets,
  },
  {
    id: 'SVC105',
    key: 'auth.admin_fallback_enabled',
    title: 'The API key is also the admin key.',
    why: 'Without an admin key, every client that can run a sandbox can also read the diagnostics and the audit, prune, and change the sandboxes of others. The fallback also takes effect silently when the admin key is lost.',
    remedy: 'Set auth.admin_fallback_enabled to false, and set auth.admin_api_key_file.',
    example:
      'auth:\n  enabled: true\n  api_key_file: /etc/svc/api_key\n  admin_api_key_file: /etc/svc/admin_api_key\n  admin_fallback_enabled: false\n',
    level: 'off',
    production: 'error',
    check: ({ config: { auth } }) =>
      findingIf(
        auth.admin_fallback_enabled,
        auth.admin_api_key === undefined
          ? {}
          : { message: 'The API key becomes the admin key when the admin key is lost.' },
      ),
  },
  {
    id: 'SVC106',
    key: 'auth.admin_api_key',
    title: 'Nobody can administer the service.',
    why: 'The configuration has neither an admin key nor the fallback to the API key. The service refuses every call for diagnostics, the audit and pruning.',
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
    key: 'auth.admin_audit_retention',
    title: 'The audit is kept for less than a day.',
    why: 'Incidents are usually investigated days later. The audit records of the incident are then deleted.',
    remedy: 'Set auth.admin_audit_retention to several weeks, such as 2160h.',
    example: 'auth:\n  admin_audit_retention: 2160h\n',
    level: 'warning',
    production: 'error',
    check: ({ config }) => findingIf(parseDuration(config.auth.admin_audit_retention, '') < DAY_MS),
  },
  {
    id: 'SVC108',
    key: 'auth.quota_writes',
    title: 'Owners can change their own quotas.',
    why: 'Owners are isolated from each other, but each owner can raise its own limits on sandboxes, lifetime and exec timeouts.',
    remedy: 'Set auth.quota_writes to admin.',
    example: 'auth:\n  enforce_owner: true\n  quota_writes: admin\n',
    level: 'warning',
    production: 'error',
    check: ({ config: { auth } }) => findingIf(auth.enforce_owner && auth.quota_writes === 'api'),
  },
  {
    id: 'SVC109',
    key: 'auth.enforce_owner',
    title: 'Owners are separated by a header that everyone can send.',
    why: 'Without authentication, X-User-ID proves nothing: every caller can act as every owner.',
    remedy: 'Set auth.enabled to true.',
    example:
      'auth:\n  enabled: true\n  api_key_file: /etc/svc/api_key\n  enforce_owner: true\n  quota_writes: admin\n',
    level: 'warning',
    production: 'error',
    check: ({ config: { auth } }) => findingIf(auth.enforce_owner && !auth.enabled),
  },
  {
    id: 'SVC110',
    key: 'auth.worker_token',
    title: 'All workers use the same token.',
    why: 'Each worker can act as every other worker: it can take over leases and receive the sandboxes of others. If a token leaks from one host, it has to be replaced on all hosts.',
    remedy:
      'Set auth.worker_signing_key_file, and give each worker its own token with `svc worker token create`.',
    example: 'auth:\n  worker_signing_key_file: /etc/svc/worker-signing-key\n',
    level: 'off',
    production: 'error',
    // In the configuration of a worker the key holds the secret of that one.
    check: ({ config: { auth, worker } }) =>
      findingIf(worker.control_plane_url === '' && auth.worker_token !== undefined),
  },
  {
    id: 'SVC111',
    key: 'auth.admin_api_key',
    title: 'Every owner has the admin key, and nobody can share templates.',
    why: 'Owners are isolated from each other, but without an admin key, the API key of all owners opens the admin routes. Nobody can create, change or delete shared templates, because these require an admin key.',
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
  {
    id: 'SVC112',
    key: 'auth.api_key_previous',
    title: 'A previous key is still valid.',
    why: 'A rotation replaces a key because somebody may have the old one. The old key keeps all of its rights until it is removed from the configuration.',
    remedy: 'Once all clients send the new key, remove the previous one and reload the configuration.',
    example: 'auth:\n  enabled: true\n  api_key_file: /etc/svc/api_key\n',
    level: 'warning',
    production: 'warning',
    check: ({ secrets }) =>
      secrets.flatMap(({ key }) =>
        findingIf(PREVIOUS_KEYS.includes(key), { key, message: `${key} is still valid.` }),
      ),
  },
  {
    id: 'SVC113',
    key: 'audit.max_records',
    title: 'The audit of calls inside sandboxes is short.',
    why: 'With audit.execs, each command, file change and preview link is a record. The service keeps calls about sandboxes only among the newest audit.max_records, so a busy hour can remove the creation of a sandbox from the audit.',
    remedy: `Set audit.max_records to ${LEAST_RECORDS} or more, or set audit.execs to false.`,
    example: 'audit:\n  execs: true\n  max_records: 1000000\n',
    level: 'warning',
    production: 'warning',
    check: ({ config: { audit } }) => findingIf(audit.execs && audit.max_records < LEAST_RECORDS),
  },
  {
    id: 'SVC114',
    key: 'auth.enabled',
    title: 'A key is set, and calls do not require it.',
    why: 'auth.enabled is false, so a call without a key, or with a wrong one, has all rights. A key alone does not switch authentication on.',
    remedy: 'Set auth.enabled to true, or remove the key.',
    example: 'auth:\n  enabled: true\n  api_key_file: /etc/svc/api_key\n',
    level: 'warning',
    production: 'warning',
    // There SVC101 says more.
    check: ({ config: { auth }, production }) => findingIf(!production && ignoresKey(auth)),
  },
]);
