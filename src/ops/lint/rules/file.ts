// Rules about the file itself. The first three are found by the loader, not by a check: they are what `svc serve` would
// refuse.
import { inSecretMap, SECRET_FILE_SUFFIX } from '../../../schema/config-keys.ts';
import type { LintRule } from '../rule.ts';

const READABLE_BY_ANYBODY = 0o004;

/** The loader finds these, as `svc serve` would refuse them: there is no check. */
const OF_LOADER = {
  topic: 'file',
  key: '',
  level: 'error',
  production: 'error',
  check: () => [],
} as const satisfies Partial<LintRule>;

export const UNUSABLE: LintRule = {
  ...OF_LOADER,
  id: 'SVC001',
  title: 'The file is not a valid configuration.',
  why: 'The file is not YAML, contains an unknown or duplicate key, or has a value of the wrong type. `svc serve` refuses such a file, and the exit code is 2. Lint still checks the rest of the file, unless it is not YAML: then no other rule applies.',
  remedy: 'Correct the file at the given position. `svc config explain KEY` describes the values of a key.',
  example: 'server:\n  port: 7423\n',
};

export const SECRET_FILE: LintRule = {
  ...OF_LOADER,
  id: 'SVC002',
  title: 'A secret file cannot be used.',
  why: 'The file in a `_file` key is missing, empty or readable by every user, or the configuration also contains the secret itself. `svc serve` refuses to start.',
  remedy:
    'Create the file so that only the service can read it, and set either the file or the value. If the file exists only on the server, use --assume-env KEY.',
  example: 'auth:\n  enabled: true\n  api_key_file: /etc/svc/api_key\n',
};

export const CONTRADICTION: LintRule = {
  ...OF_LOADER,
  id: 'SVC003',
  title: 'Keys contradict each other.',
  why: 'Each value is valid, but the combination is not, such as authentication without a key. `svc serve` refuses to start.',
  remedy:
    'Change the key, or the key that it contradicts. If the secret comes from the environment, use --assume-env KEY.',
  example: 'defaults:\n  ttl: 30m\n  max_ttl: 24h\n',
};

export const FILE_RULES: readonly LintRule[] = [
  UNUSABLE,
  SECRET_FILE,
  CONTRADICTION,
  {
    id: 'SVC004',
    topic: 'file',
    key: '',
    title: 'The file contains secrets and every user of the machine can read it.',
    why: 'Every account and every program on the host can read the keys and call the service with them.',
    remedy: 'Run chmod 600 on the file, or move the secrets to separate files with `_file` keys.',
    example: 'auth:\n  enabled: true\n  api_key_file: /etc/svc/api_key\n',
    level: 'error',
    production: 'error',
    check: ({ files }) =>
      files.flatMap(({ file, mode, inlineSecrets: [key] }) =>
        key !== undefined && (mode & READABLE_BY_ANYBODY) !== 0 ? [{ key, file }] : [],
      ),
  },
  {
    id: 'SVC005',
    topic: 'file',
    key: '',
    title: 'The file contains a secret.',
    why: 'Configuration files are copied, committed and shared, together with the secrets in them. A separate file can be readable by the service only, and can change without a change of the configuration.',
    remedy:
      'Move the value to a separate file and name the file in the `_file` key (for a worker token: `{file: PATH}`). Or set the environment variable and use --assume-env KEY.',
    example: 'auth:\n  enabled: true\n  api_key_file: /etc/svc/api_key\n',
    level: 'off',
    production: 'warning',
    check: ({ files }) =>
      files.flatMap(({ file, inlineSecrets }) =>
        inlineSecrets.map((key) => ({
          key,
          file,
          message: inSecretMap(key)
            ? `The file contains ${key}; use {file: PATH} instead.`
            : `The file contains ${key}; use ${key}${SECRET_FILE_SUFFIX} instead.`,
        })),
      ),
  },
];
