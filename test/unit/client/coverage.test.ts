// Both clients against the API description: a route, a field or an error code that one of them lacks fails here. Shapes of the
// Python client are written from the description, so that a field is missing only where a file is not current.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ERROR_TABLE } from '../../../src/domain/errors.ts';
import { packageRoot as rootOf } from '../../../src/host/package-root.ts';

const packageRoot = rootOf();
const API = JSON.parse(readFileSync(join(packageRoot, 'docs/openapi.json'), 'utf8'));
const OPERATIONS = Object.values(
  API.paths as Record<string, Record<string, { operationId: string }>>,
).flatMap((path) => Object.values(path).map(({ operationId }) => operationId));
const CODES: string[] = API.components.schemas.Error.properties.code.enum;

const QUOTA_CALLS = ['ListQuotas', 'QuotaSummary', 'GetQuota', 'PutQuota', 'DeleteQuota', 'QuotaUsage'];
const SESSION_CALLS = [
  ...[
    'createSession',
    'exchangeLoginCode',
    'currentIdentity',
    'renewSession',
    'endSession',
    'listSessions',
    'revokeSession',
  ],
];
/** Routes that no client calls, with the reason. */
const NEITHER: Record<string, string> = {
  ...Object.fromEntries(QUOTA_CALLS.map((name) => [`admin${name}`, 'the other path accepts the admin key'])),
  deleteExpiredSandboxes: 'pruneSandboxes does the same',
  writeFile: 'putFile does the same without JSON',
  adminListWorkers: 'listWorkers accepts the admin key',
  adminGetWorker: 'getWorker accepts the admin key',
  workerHeartbeat: 'workers call it',
  renewLease: 'workers call it',
  downloadFile: 'browsers open it',
  ...Object.fromEntries(SESSION_CALLS.map((name) => [name, 'the console calls it'])),
  openapiJson: 'for tools',
  openapiYaml: 'for tools',
};
const NOT_IN_PYTHON: Record<string, string> = {
  createLoginCode: 'svc console calls it',
  execSocket: 'needs a WebSocket, which httpx does not have',
};

const textOf = (folder: string, extension: string) =>
  readdirSync(join(packageRoot, folder))
    .filter((name) => name.endsWith(extension))
    .map((name) => readFileSync(join(packageRoot, folder, name), 'utf8'))
    .join('\n');
const TYPESCRIPT = textOf('src/client', '.ts');
const PYTHON = textOf('clients/python/src/svc_sandbox/_async', '.py');

/** The socket is opened by its path. */
const isInTypescript = (id: string) => TYPESCRIPT.includes(`'${id}'`) || id === 'execSocket';

it('the TypeScript client has every route', () => {
  expect(OPERATIONS.filter((id) => !isInTypescript(id) && !(id in NEITHER))).toEqual([]);
});

it('the Python client has every route', () => {
  const missing = OPERATIONS.filter((id) => !PYTHON.includes(`"${id}"`));
  expect(missing.filter((id) => !(id in NEITHER) && !(id in NOT_IN_PYTHON))).toEqual([]);
});

it('no exception is stale', () => {
  const listed = [...Object.keys(NEITHER), ...Object.keys(NOT_IN_PYTHON)];
  expect(listed.filter((id) => !OPERATIONS.includes(id))).toEqual([]);
  expect(Object.keys(NEITHER).filter((id) => isInTypescript(id) || PYTHON.includes(`"${id}"`))).toEqual([]);
});

it('both clients have every error code', () => {
  expect(Object.keys(ERROR_TABLE).sort()).toEqual([...CODES].sort());
  const models = readFileSync(join(packageRoot, 'clients/python/src/svc_sandbox/models.py'), 'utf8');
  const line = /^ErrorCode = (.*)$/m.exec(models)?.[1] ?? '';
  expect(CODES.filter((code) => !line.includes(`'${code}'`))).toEqual([]);
});

it('the shapes, routes and plain client of Python are current', () => {
  const args = ['clients/python/tools/generate.py', '--check'];
  expect(execFileSync('python3', args, { cwd: packageRoot, encoding: 'utf8' })).toBe('');
});
