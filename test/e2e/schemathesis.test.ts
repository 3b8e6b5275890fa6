// The API description held against a running server by schemathesis (of PyPI): whatever is made from the description is
// answered as it says, and nothing that it allows is refused but for what proof/schemathesis/exceptions.py lists.
// `npm run schemathesis -- --examples 200` makes a longer run of it.
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { PATHS } from '../../src/http/paths.ts';
import { describeWith } from '../support/requires.ts';
import { api } from '../support/servers/api.ts';
import { packageRoot, removeHome, startServer, type TestServer } from '../support/servers/server.ts';

const EXAMPLES = process.env.SVC_SCHEMATHESIS_EXAMPLES ?? '3';
const SEED = process.env.SVC_SCHEMATHESIS_SEED ?? '1';
/** A pattern of paths. */
const ONLY = process.env.SVC_SCHEMATHESIS_ONLY ?? '';
/** From so many on, a run names the exceptions that it did not meet. Which ones it meets depends on the seed. */
const MANY = 100;
/** The usual number of examples takes about a minute of processor time, beside other suites. */
const DEADLINE_MS = 600_000 + Number(EXAMPLES) * 20_000;

const key = 'schemathesis-api-key-0123456789abcdef';
const adminKey = 'schemathesis-admin-key-0123456789abcdef';
const workerToken = 'schemathesis-worker-token-0123456789abcdef';

interface Report {
  cases: number;
  statuses: Record<string, number>;
  excepted: Record<string, number>;
  unused: string[];
  failures: object[];
}

describeWith(['schemathesis'], 'the API description', () => {
  let server: TestServer;
  let report: Report;

  beforeAll(async () => {
    server = await startServer({
      env: {
        SVC_AUTH_ENABLED: 'true',
        SVC_AUTH_API_KEY: key,
        SVC_AUTH_ADMIN_API_KEY: adminKey,
        SVC_AUTH_WORKER_TOKENS_EDGE: workerToken,
        SVC_DEFAULTS_DEFAULT_EXEC_TIMEOUT: '5s',
        SVC_DEFAULTS_MAX_PREWARM: '0',
        SVC_DEFAULTS_MAX_SANDBOXES: '12',
        SVC_SERVER_PREVIEW_DOMAIN: 'preview.localhost',
        SVC_SERVER_PREVIEW_ACCESS: 'signed',
      },
    });
    report = await drive(server);
  }, DEADLINE_MS);

  afterAll(async () => {
    await server?.stop();
    if (server) removeHome(server.home);
    if (report && Number(EXAMPLES) >= MANY)
      process.stdout.write(`Exceptions without use: ${report.unused.join('\n  ') || 'none'}\n`);
  });

  it('fits every answer, and every valid request is accepted', () => {
    expect(report.failures).toEqual([]);
  });

  it.skipIf(ONLY !== '')('is checked against every operation', () => {
    const seen = new Set(Object.keys(report.statuses).map((line) => line.replace(/ \d+$/, '')));
    // It leaves out where it read the description itself.
    expect(Object.values(PATHS).filter((place) => !seen.has(place))).toEqual([PATHS.openapiJson]);
    expect(report.cases).toBeGreaterThan(2000);
  });

  it('leaves the server running', async () => {
    expect((await fetch(`${server.url}/api/v1/live`)).status).toBe(200);
  });
});

/** One run of schemathesis against `server`, with names of what is there. */
async function drive(server: TestServer): Promise<Report> {
  const url = `${server.url}/api/v1`;
  const output = join(server.home, 'report.json');
  const folder = join(server.home, 'schemathesis');
  mkdirSync(folder);
  const support = join(packageRoot, 'proof/schemathesis');
  const run = promisify(execFile)(
    join(packageRoot, '.cache/schemathesis/bin/st'),
    [
      ...['--config-file', join(support, 'schemathesis.toml'), 'run', `${url}/openapi.json`, '--url', url],
      ...(ONLY ? ['--include-path-regex', ONLY] : []),
      ...['--seed', SEED, '--max-examples', EXAMPLES, '--no-color'],
    ],
    {
      ...{ cwd: folder, maxBuffer: 64 * 1024 * 1024, timeout: DEADLINE_MS },
      env: {
        ...{ PATH: process.env.PATH, HOME: folder, PYTHONPATH: support, PYTHONDONTWRITEBYTECODE: '1' },
        ...{ SCHEMATHESIS_HOOKS: 'hooks', SVC_URL: url, SVC_REPORT: output },
        ...{ SVC_KEY: key, SVC_ADMIN_KEY: adminKey, SVC_WORKER: workerToken },
        SVC_PRESENT: JSON.stringify(await present(server)),
      },
    },
  );
  // Its exit code is 1 where the report holds failures; without a report it has not run.
  const { stdout } = await run.catch((error: { stdout: string }) => error);
  try {
    return JSON.parse(readFileSync(output, 'utf8')) as Report;
  } catch (cause) {
    throw new Error(`schemathesis left no report:\n${stdout}`, { cause });
  }
}

/** What most requests name, by operation or by path. */
async function present(server: TestServer): Promise<Record<string, Record<string, string>>> {
  const { spawn, call } = api(server.url, { 'X-API-Key': key, 'X-Admin-API-Key': adminKey });
  const { id } = await spawn({ ttl: '12h' });
  const { body } = await call<{ exec_id: string }>('POST', `/sandboxes/${id}/exec`, {
    command: 'sleep 3600',
    detach: true,
  });
  await call('POST', '/templates', { name: 'kept', image: 'default' });
  const inside = Object.values(PATHS)
    .map((place) => place.split(' ')[1]!)
    .filter((path) => path.startsWith('/sandboxes/{id}/'))
    .map((path) => [path, { id, exec_id: body.exec_id }]);
  return {
    ...Object.fromEntries(inside),
    'GET /sandboxes/{id}': { id },
    'GET /templates/{name}': { name: 'kept' },
    'PUT /templates/{name}': { name: 'kept' },
    '/templates/{name}/spawn': { name: 'kept' },
    '/providers/{name}': { name: 'userspace' },
    '/admin/providers/{name}': { name: 'userspace' },
    '/worker/{worker_id}/heartbeat': { worker_id: 'edge' },
    '/worker/{worker_id}/leases/{resource_id}/renew': { worker_id: 'edge' },
    '/workers/{worker_id}': { worker_id: 'edge' },
  };
}
