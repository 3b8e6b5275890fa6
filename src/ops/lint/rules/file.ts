// Rules about the file itself. The first three are found by the loader, not by a check: they are what `svc serve` would
// refuse.
import { inSecretMap, SECRET_FILE_SUFFIX } from '../../../schema/config-keys.ts';
import type { LintRule } from '../rule.ts';

const READABLE_BY_ANYBODY = 0o004;

export const UNUSABLE: LintRule = {
  id: 'SVC001',
  topic: 'file',
  key: '',
  title: 'The file is no configuration.',
  why: 'Text that is not YAML, a name that no key has, a key that stands twice, or a value of the wrong type: `svc serve` refuses such a file, and the exit code is 2. The rest of it is judged all the same, but for text that is not YAML: from there on nothing can be read, and no other rule is asked.',
  remedy: 'Correct it at the place named; `svc config explain KEY` tells what a key takes.',
  example: 'server:\n  port: 7423\n',
  level: 'error',
  production: 'error',
  check: () => [],
};

export const SECRET_FILE: LintRule = {
  id: 'SVC002',
  topic: 'file',
  key: '',
  title: 'A secret file cannot be used.',
  why: 'The file that a `_file` key names is missing, empty, readable by anybody, or named beside the secret itself: `svc serve` refuses to start.',
  remedy:
    'Put the file there, readable by the service alone, and name the secret in one way: the file or the value. Where it exists only on the server, say so with --assume-env KEY.',
  example: 'auth:\n  enabled: true\n  api_key_file: /etc/svc/api_key\n',
  level: 'error',
  production: 'error',
  check: () => [],
};

export const CONTRADICTION: LintRule = {
  id: 'SVC003',
  topic: 'file',
  key: '',
  title: 'Keys contradict each other.',
  why: 'Each value is fine by itself, but not beside another one, such as authentication without a key: `svc serve` refuses to start.',
  remedy:
    'Change the key named, or the one it contradicts. A secret that comes from the environment is declared by --assume-env KEY.',
  example: 'defaults:\n  ttl: 30m\n  max_ttl: 24h\n',
  level: 'error',
  production: 'error',
  check: () => [],
};

export const FILE_RULES: readonly LintRule[] = [
  UNUSABLE,
  SECRET_FILE,
  CONTRADICTION,
  {
    id: 'SVC004',
    topic: 'file',
    key: '',
    title: 'Anybody on the machine may read the file, and it holds secrets.',
    why: 'Every account and every program on the host can read the keys, and call the service with them.',
    remedy: 'Run chmod 600 on the file, or move the secrets to files of their own with `_file` keys.',
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
    title: 'A secret stands in the file itself.',
    why: 'Configuration is copied, committed and shown around; a secret in it goes along. A file of its own can be readable by the service alone and be changed without touching the configuration.',
    remedy:
      'Move the value to a file of its own and name it by the `_file` key (of a token of a worker: `{file: PATH}`), or give it by its variable and say so with --assume-env KEY.',
    example: 'auth:\n  enabled: true\n  api_key_file: /etc/svc/api_key\n',
    level: 'off',
    production: 'warning',
    check: ({ files }) =>
      files.flatMap(({ file, inlineSecrets }) =>
        inlineSecrets.map((key) => ({
          key,
          file,
          message: inSecretMap(key)
            ? `${key} stands in the file; {file: PATH} can be there in its place.`
            : `${key} stands in the file; ${key}${SECRET_FILE_SUFFIX} can name a file of its own.`,
        })),
      ),
  },
];
