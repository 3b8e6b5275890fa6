// One configuration from defaults, a file, the environment and flags; everything wrong told at once, with its place.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { type LoadRequest, loadConfig } from '../../../src/config/load.ts';
import { type Problem, sourceText } from '../../../src/config/setting.ts';
import { ServiceError } from '../../../src/domain/errors.ts';

const root = mkdtempSync(join(tmpdir(), 'svc-config-'));
afterAll(() => rmSync(root, { recursive: true }));
let place: { cwd: string; home: string };
let count = 0;
beforeEach(() => {
  count += 1;
  place = { cwd: join(root, `${count}`, 'cwd'), home: join(root, `${count}`, 'home') };
  mkdirSync(place.cwd, { recursive: true });
  mkdirSync(join(place.home, '.svc'), { recursive: true });
});

const load = (request: Partial<LoadRequest> = {}) =>
  loadConfig({ env: {}, uid: 1000, isTerminal: false, ...place, ...request });
const write = (text: string, name = 'svc.yaml', mode = 0o600) => {
  writeFileSync(join(place.cwd, name), text);
  chmodSync(join(place.cwd, name), mode);
};
const problems = (request: Partial<LoadRequest> = {}): Problem[] => {
  try {
    load(request);
  } catch (error) {
    expect(error).toBeInstanceOf(ServiceError);
    expect((error as ServiceError).code).toBe('bad_request');
    return (error as ServiceError).details?.problems as Problem[];
  }
  throw new Error('nothing was wrong');
};
const messages = (request: Partial<LoadRequest> = {}) => problems(request).map(({ message }) => message);

it('uses only defaults without a file', () => {
  const { config, sources, files, secrets } = load();
  expect(config.server).toMatchObject({ host: '127.0.0.1', port: 7423, body_limit: 1_048_576 });
  expect(config.database.path).toBe(join(place.home, '.svc/svc.db'));
  expect(config.logging.format).toBe('json');
  expect(config.auth).not.toHaveProperty('api_key');
  expect([...sources.values()].every(({ layer }) => layer === 'default')).toBe(true);
  expect([files, secrets]).toEqual([[], []]);
});

it('adapts defaults to the host', () => {
  const { config } = load({ uid: 0, isTerminal: true });
  expect(config.database.path).toBe('/var/lib/svc/svc.db');
  expect(config.providers.userspace.workspace_base).toBe('/var/lib/svc/userspace');
  expect(config.logging.format).toBe('pretty');
});

it('lets later layers win, and records the source of every value', () => {
  write('server:\n  port: 1\n  host: 127.0.0.2\n  body_limit: 2048\n');
  const env = { SVC_SERVER_PORT: '2', SVC_SERVER_HOST: '127.0.0.3' };
  const { config, sources, files } = load({ env, flags: { server: { port: 3, host: undefined } } });
  expect(config.server).toMatchObject({ port: 3, host: '127.0.0.3', body_limit: 2048 });
  const texts = ['port', 'host', 'body_limit', 'max_file_size'].map((key) =>
    sourceText(sources.get(`server.${key}`)!),
  );
  expect(texts).toEqual(['flag', 'SVC_SERVER_HOST', 'svc.yaml:4:3', 'default']);
  expect(files).toEqual([{ name: 'svc.yaml', path: join(place.cwd, 'svc.yaml') }]);
});

const names = ({ files }: { files: readonly { name: string }[] }) => files.map(({ name }) => name);
const writeAtHome = (text: string) => writeFileSync(join(place.home, '.svc/config.yaml'), text);

it('reads keys that svc.yaml does not set from the file in the home folder', () => {
  writeAtHome('server: {port: 1, max_json_file: 4096}');
  expect(load().config.server.port).toBe(1);
  expect(names(load())).toEqual(['~/.svc/config.yaml']);
  write('server: {port: 2}');
  const { config, sources, ...loaded } = load();
  expect(config.server).toMatchObject({ port: 2, max_json_file: 4096 });
  expect(sourceText(sources.get('server.port')!)).toBe('svc.yaml:1:10');
  expect(sourceText(sources.get('server.max_json_file')!)).toBe('~/.svc/config.yaml:1:19');
  expect(names(loaded)).toEqual(['svc.yaml', '~/.svc/config.yaml']);
  const env = { SVC_SERVER_MAX_JSON_FILE: '8192' };
  expect(load({ env }).config.server.max_json_file).toBe(8192);
});

it('reads a named file alone', () => {
  writeAtHome('server: {max_json_file: 4096}');
  write('server: {port: 2}');
  write('server: {host: 127.0.0.3}', 'three.yaml');
  const named = load({ env: { SVC_CONFIG: 'three.yaml' } });
  expect(named.config.server).toMatchObject({ port: 7423, host: '127.0.0.3', max_json_file: 134_217_728 });
  write('server: {port: 4}', 'four.yaml');
  expect(names(load({ env: { SVC_CONFIG: 'three.yaml' }, file: 'four.yaml' }))).toEqual(['four.yaml']);
});

it('reports the problems of both files, each with its position', () => {
  writeAtHome('server:\n  prt: 1\nrate_limit: {burst: many}\n');
  write('server: {hst: a}\n');
  expect(problems().map(({ file, line }) => [file, line])).toEqual([
    ['svc.yaml', 1],
    ['~/.svc/config.yaml', 2],
    ['~/.svc/config.yaml', 3],
  ]);
});

it('refuses a secret in one file and its secret file in the other', () => {
  writeAtHome('auth: {api_key_file: key}');
  writeFileSync(join(place.home, '.svc/key'), 'of-the-home', { mode: 0o600 });
  expect(load().config.auth.api_key).toBe('of-the-home');
  write('auth: {api_key: inline}');
  expect(messages()).toEqual([
    '~/.svc/config.yaml:1:8: auth.api_key (svc.yaml:1:8) and auth.api_key_file are both set.',
  ]);
});

it('refuses a secret file that everyone may read, named in either file', () => {
  writeAtHome('auth: {api_key_file: key}');
  writeFileSync(join(place.home, '.svc/key'), 'of-the-home', { mode: 0o644 });
  chmodSync(join(place.home, '.svc/key'), 0o644);
  write('auth: {admin_api_key_file: admin}');
  write('of-the-folder', 'admin', 0o644);
  expect(problems().map(({ file }) => file)).toEqual(['~/.svc/config.yaml', 'svc.yaml']);
});

it('merges worker tokens by worker, with files relative to the file that names them', () => {
  writeAtHome('auth: {worker_tokens: {w1: {file: w1}, w2: {file: w2}}}');
  for (const name of ['w1', 'w2'])
    writeFileSync(join(place.home, `.svc/${name}`), `home-${name}`, { mode: 0o600 });
  write('auth: {worker_tokens: {w2: {file: token}}}');
  write('here-w2', 'token');
  expect(load().config.auth.worker_tokens).toEqual({ w1: 'home-w1', w2: 'here-w2' });
});

it('refuses files that cannot be used', () => {
  expect(messages({ file: 'absent.yaml' })).toEqual(['absent.yaml: the file is not there.']);
  expect(messages({ env: { SVC_CONFIG: '/dev/null' } })).toEqual([
    '/dev/null: the file is not a regular file.',
  ]);
  mkdirSync(join(place.cwd, 'svc.yaml'));
  expect(messages()).toEqual(['svc.yaml: the file is not a regular file.']);
  writeFileSync(join(place.cwd, 'x'), Buffer.from([0x61, 0xff, 0xfe]));
  expect(messages({ file: 'x' })).toEqual(['x: the file is not UTF-8 text.']);
  write('#'.repeat(300_000), 'big.yaml');
  expect(messages({ file: 'big.yaml' })).toEqual(['big.yaml: the file is over 256 KiB.']);
});

it('reports all problems at once', () => {
  write('server:\n  prot: 1\n  port: high\nport: 5\nauth: yes\ndefaults:\n  ttl: 5 days\n');
  const env = { SVC_AUTH_ENABELD: 'true', SVC_LOGGING_LEVEL: 'loud', SVC_SERVER_BODY_LIMIT: '12' };
  expect(messages({ env })).toEqual([
    'svc.yaml:2:3: "server.prot" is not a key; did you mean server.port?',
    'svc.yaml:4:1: "port" is not a key; did you mean server.port?',
    'svc.yaml:5:7: auth must be a section of keys.',
    '"SVC_AUTH_ENABELD" is not a variable of svc; did you mean SVC_AUTH_ENABLED?',
    'svc.yaml:3:3: server.port must be a whole number from 0 to 65535.',
    'server.body_limit must be a whole number from 1024 to 1073741824 (SVC_SERVER_BODY_LIMIT).',
    'svc.yaml:7:3: defaults.ttl must be a duration like 90s, 30m or 1h30m, at most 8760h.',
    'logging.level must be one of debug, info, warn, error (SVC_LOGGING_LEVEL).',
  ]);
  expect(problems({ env })[4]).toMatchObject({ key: 'server.port', file: 'svc.yaml', line: 3, column: 3 });
});

it('converts no types in YAML', () => {
  write(
    'server:\n  port: "7423"\n  allow_insecure: "yes"\n  cors_allowed_origins: https://a.example\n  host: 5\n',
  );
  expect(problems().map(({ key }) => key)).toEqual([
    'server.host',
    'server.port',
    'server.allow_insecure',
    'server.cors_allowed_origins',
  ]);
});

it('parses environment variables by the type of their key', () => {
  const { config } = load({
    env: {
      SVC_SERVER_PORT: '0',
      SVC_SERVER_CORS_ALLOWED_ORIGINS: 'https://a.example, https://b.example',
      SVC_AUTH_ENFORCE_OWNER: 'true',
      SVC_AUTH_ADMIN_FALLBACK_ENABLED: 'false',
      SVC_PROVIDERS_USERSPACE_IMAGES: '{"a/b:c": "/srv/root"}',
      SVC_PROVIDERS_USERSPACE_LANGUAGES: '',
      SVC_TEST_ANYTHING: 'x',
      SVC_SERVER: 'http://x',
      SVC_API_KEY: 'k',
      SVC_API_KEY_FILE: 'f',
      SVC_USER: 'u',
      SVC_CONFIG: '',
      svc_lower: 'x',
      OTHER: 'x',
    },
  });
  expect(config.server).toMatchObject({
    port: 0,
    cors_allowed_origins: ['https://a.example', 'https://b.example'],
  });
  expect(config.auth).toMatchObject({ enforce_owner: true, admin_fallback_enabled: false });
  expect(config.providers.userspace).toMatchObject({ images: { 'a/b:c': '/srv/root' }, languages: [] });
});

it.each([
  ['SVC_SERVER_PORT', ['', ' 1', '1.5', '1e3', '0x10', '-1', '65536', '٣', '9'.repeat(400)]],
  ['SVC_AUTH_ENFORCE_OWNER', ['', 'yes', '1', 'TRUE', 'true ']],
  ['SVC_DEFAULTS_TTL', ['', '5', '5d', '1.5h', '-5m', '30m1h', '8761h', ' 5m', '1m1m']],
  [
    'SVC_PROVIDERS_USERSPACE_IMAGES',
    ['', '[]', 'null', '{', '{"-a":"b"}', '{"a":1}', '{"a":""}', '{"__proto__":"x"}'],
  ],
  ['SVC_PROVIDERS_USERSPACE_LANGUAGES', ['a,,b', 'a b', '../x', ',']],
  ['SVC_DATABASE_PATH', ['']],
  ['SVC_PROVIDERS_DEFAULT', ['', 'Userspace', 'Container']],
])('%s refuses values that do not fit', (name, values) => {
  for (const value of values) {
    const [message = '', ...more] = messages({ env: { [name]: value } });
    expect([value, message, more]).toEqual([value, expect.stringContaining(`(${name})`), []]);
  }
});

it.each([
  'SVC_',
  'SVC_SERVER_',
  'SVC_SERVER_PORT_',
  'SVC__SERVER_PORT',
  'SVC_server_port',
  'SVC_SERVER_PORT_FILE',
  'SVC_TEST',
  `SVC_${'A'.repeat(9000)}`,
  'SVC_\n\x1b',
])('refuses the variable %j', (name) => {
  const [message = '', ...more] = messages({ env: { [name]: '1' } });
  expect(message).toContain('is not a variable of svc');
  expect(message.length).toBeLessThan(200);
  expect(message).not.toMatch(/\p{Cc}/u);
  expect(more).toEqual([]);
});

it('reads secrets from files', () => {
  write('auth:\n  api_key_file: key\n  enabled: true\n');
  write('the-key-itself\n', 'key');
  const { config, secrets, sources } = load();
  expect(config.auth.api_key).toBe('the-key-itself');
  expect(config.auth).not.toHaveProperty('api_key_file');
  expect(secrets).toEqual(['the-key-itself']);
  expect(sourceText(sources.get('auth.api_key')!)).toBe('svc.yaml:2:3');
  write('other-key\r\n\n', 'other');
  expect(load({ env: { SVC_AUTH_ADMIN_API_KEY_FILE: 'other' } }).config.auth.admin_api_key).toBe(
    'other-key\r\n',
  );
});

it('resolves a secret file relative to the file that names it', () => {
  mkdirSync(join(place.cwd, 'etc'));
  write('auth: {api_key_file: key}', 'etc/svc.yaml');
  write('near', 'etc/key');
  write('far', 'key');
  expect(load({ file: 'etc/svc.yaml' }).config.auth.api_key).toBe('near');
});

it('refuses secret files that are readable by everyone, empty or not regular', () => {
  const message = (env: Record<string, string>) => messages({ env })[0];
  write('x', 'open', 0o604);
  write('\n', 'empty');
  mkdirSync(join(place.cwd, 'folder'));
  const file = (name: string) => message({ SVC_AUTH_API_KEY_FILE: name });
  expect(file('open')).toContain('is readable by everyone');
  expect(file('empty')).toContain('is empty');
  expect(file('folder')).toContain('is not a regular file');
  expect(file('absent')).toContain('cannot be read');
  expect(file('')).toContain('must be the path of a file');
  expect(file('bad\0name')).toContain('cannot be read');
  write('fine', 'fine');
  expect(message({ SVC_AUTH_API_KEY_FILE: 'fine', SVC_AUTH_API_KEY: 'canary-9' })).toContain('are both set');
  expect(message({ SVC_AUTH_API_KEY: '' })).toContain('auth.api_key must be text that is not empty');
});

it('reads named secrets inline, from files and from variables', () => {
  write('auth:\n  worker_tokens:\n    a.1: token-of-a\n    b: {file: token}\n');
  write('token-of-b\n', 'token');
  const { config, secrets, sources } = load();
  expect(config.auth.worker_tokens).toEqual({ 'a.1': 'token-of-a', b: 'token-of-b' });
  expect(secrets.sort()).toEqual(['token-of-a', 'token-of-b']);
  expect(sourceText(sources.get('auth.worker_tokens')!)).toBe('svc.yaml:2:3');
  const more = load({
    env: { SVC_AUTH_WORKER_TOKENS_EDGE_1: 'token-of-edge', SVC_AUTH_WORKER_TOKENS_B: 'x' },
  });
  expect(more.config.auth.worker_tokens).toEqual({ 'a.1': 'token-of-a', b: 'x', 'edge-1': 'token-of-edge' });
  const whole = load({ env: { SVC_AUTH_WORKER_TOKENS: '{"c":{"file":"token"}}' } });
  expect(whole.config.auth.worker_tokens).toEqual({ c: 'token-of-b' });
});

it('reads credentials with their terms, and refuses those that do not belong together', () => {
  write('key of a service\n', 'token');
  const text = (terms: string, values: string) =>
    `egress:\n  credentials: ${values}\n  credential_terms: ${terms}\n`;
  const of = (terms: string, values = '{own: {file: token}}') => {
    write(text(terms, values));
    return messages()[0];
  };
  const terms =
    '{own: {hosts: [a.example, "*.b.example:8443"], format: "Bearer {value}", owners: ["*"], allow_http: true}}';
  write(text(terms, '{own: {file: token}}'));
  const { config, secrets, secretPaths } = load();
  expect(config.egress.credentials).toEqual({ own: 'key of a service' });
  expect([...secretPaths]).toEqual([['egress.credentials.own', join(place.cwd, 'token')]]);
  expect(secrets).toEqual(['key of a service']);
  const hosts = ['a.example', '*.b.example:8443'];
  const own = { hosts, format: 'Bearer {value}', owners: ['*'], allow_http: true };
  expect(config.egress.credential_terms).toEqual({ own });
  expect(of('{other: {hosts: [a.example]}}')).toContain('must have the same names');
  expect(of('{own: {hosts: [a.example], format: Bearer}}')).toContain('{value} once in format');
  expect(of('{own: {hosts: ["*.a.example"]}}')).toContain('must have hosts');
  for (const bad of [
    '{own: {hosts: []}}',
    '{own: {}}',
    '{own: a.example}',
    '{own: {hosts: [a.example], value: x}}',
  ])
    expect(of(bad)).toContain('entry own of egress.credential_terms is not of the form that the API takes');
  expect(of('{own: {hosts: [a.example]}}', '{own: "two\\nlines"}')).toContain('printable ASCII');
});

it('refuses invalid named secrets', () => {
  const of = (yaml: string) => {
    write(`auth:\n  worker_tokens: ${yaml}\n`);
    return messages()[0];
  };
  write('x', 'open', 0o604);
  expect(of('{a: {file: open}}')).toContain('worker_tokens.a is readable by everyone');
  expect(of('{a: {file: absent}}')).toContain('worker_tokens.a cannot be read');
  expect(of('{a: {file: open, more: 1}}')).toContain('auth.worker_tokens must be a map');
  expect(of('{a: {path: canary}}')).toBe('svc.yaml:2:3: auth.worker_tokens must be a map of names to texts.');
  expect(of('{a: 5}')).toContain('auth.worker_tokens must be a map');
  expect(of('{-a: x}')).toContain('a name of the wrong form');
  expect(of('[x]')).toContain('auth.worker_tokens must be a map');
  expect(messages({ env: { SVC_AUTH_WORKER_TOKENS_: 'x' } })[0]).toContain('is not a variable of svc');
});

it('names the sandboxes of a listener for E2B below localhost, unless they have names', () => {
  const listen = { SVC_E2B_LISTEN: '127.0.0.1:7443' };
  expect(load({ env: listen }).config.server.preview_domain).toBe('e2b.localhost');
  const named = { ...listen, SVC_SERVER_PREVIEW_DOMAIN: 'boxes.example.com' };
  expect(load({ env: named }).config.server.preview_domain).toBe('boxes.example.com');
  expect(load().config.server.preview_domain).toBe('');
});

it.each([
  [{ SVC_E2B_LISTEN: '7443' }, 'host:port'],
  [{ SVC_E2B_LISTEN: '127.0.0.1:0' }, 'host:port'],
  [{ SVC_E2B_LISTEN: '127.0.0.1:7443', SVC_E2B_ENABLED: 'false' }, 'needs e2b.enabled'],
  [{ SVC_E2B_LISTEN: '0.0.0.0:7443' }, 'reachable from outside'],
  [{ SVC_E2B_CERT_FILE: '/x.pem' }, 'need each other'],
])('refuses a listener for E2B that would not serve: %j', (env, words) => {
  expect(messages({ env: env as Record<string, string> })).toEqual([expect.stringContaining(words)]);
});

it('checks the rules between keys', () => {
  const first = (env: Record<string, string>) => messages({ env });
  expect(first({ SVC_AUTH_ENABLED: 'true' })).toEqual([
    'auth.enabled needs auth.api_key or auth.api_key_file (SVC_AUTH_ENABLED).',
  ]);
  for (const host of ['0.0.0.0', '::', '10.0.0.1', '127.0.0.1.example.com', ''])
    expect(first({ SVC_SERVER_HOST: host })[0]).toContain('reachable from outside');
  expect(first({ SVC_DEFAULTS_DEFAULT_EXEC_TIMEOUT: '11m' })[0]).toContain(
    'at most defaults.max_exec_timeout',
  );
  expect(first({ SVC_DEFAULTS_TTL: '25h' })[0]).toContain('at most defaults.max_ttl');
  expect(first({ SVC_PROVIDERS_USERSPACE_RUNNER_PATH: '/opt/bwrap' })[0]).toContain(
    'requires providers.userspace.runner',
  );
  expect(first({ SVC_AUTH_WORKER_SIGNING_KEY: 'k'.repeat(31) })[0]).toContain('at least 32 characters');
  expect(first({ SVC_WORKER_HEARTBEAT_INTERVAL: '0s' })[0]).toContain('must be at least 1s');
  for (const env of [
    { SVC_PROVIDERS_USERSPACE_RUNNER_PATH: '/opt/bwrap', SVC_PROVIDERS_USERSPACE_RUNNER: 'bwrap' },
    { SVC_SERVER_HOST: '0.0.0.0', SVC_SERVER_ALLOW_INSECURE: 'true' },
    { SVC_SERVER_HOST: '::', SVC_AUTH_ENABLED: 'true', SVC_AUTH_API_KEY: 'k' },
    { SVC_SERVER_HOST: '::1' },
    { SVC_SERVER_HOST: 'localhost' },
    { SVC_SERVER_HOST: '127.9.9.9' },
    { SVC_DEFAULTS_TTL: '25h', SVC_DEFAULTS_MAX_TTL: '0s' },
  ])
    expect(() => load({ env })).not.toThrow();
});

it('never shows a value in a message', () => {
  const canary = 'canary-51e8d1';
  const nested = `auth: {api_key: [${canary}], admin_api_key: {a: ${canary}}, enabled: ${canary}}\ndefaults: {ttl: ${canary}}`;
  for (const text of [
    nested,
    `${canary}`,
    `auth:\n api_key: "${canary}`,
    `auth: !${canary} x`,
    `auth:\n\t${canary}`,
  ]) {
    write(text);
    expect(JSON.stringify(problems())).not.toContain(canary);
  }
  const env = { SVC_AUTH_ENABLED: canary, SVC_AUTH_API_KEY: canary, SVC_DEFAULTS_TTL: canary };
  write('');
  expect(JSON.stringify(problems({ env }))).not.toContain(canary);
});
