// The conformance command: the example backend keeps every rule, and broken ones fail the rules they break, no others.
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { realClock } from '../../src/host/clock.ts';
import { realRandom } from '../../src/host/random.ts';
import { planConformance } from '../../src/ops/conformance/conformance.ts';
import type { Verdict } from '../../src/schema/doctor.ts';
import { removeFolder } from '../support/remove.ts';
import { describeWith } from '../support/requires.ts';
import { brokenBackend, type Change, type TakenCall } from '../support/scripted/broken-backend.ts';
import { type CustomBackend, customBackend, customConfig } from '../support/servers/custom-backend.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');
const without = (name: string) => (body: string) => {
  const { [name]: _, ...rest } = JSON.parse(body);
  return JSON.stringify(rest);
};
const withMore = (more: object) => (body: string) => JSON.stringify({ ...JSON.parse(body), ...more });

const BROKEN: readonly [rule: string, verdict: Verdict, change: Change][] = [
  ['reach.health', 'fail', { at: 'GET /health', status: 500 }],
  ['reach.key', 'fail', { at: 'GET /status/none', headers: { authorization: undefined }, status: 404 }],
  ['sandboxes.spawn', 'fail', { at: 'POST /spawn', status: 200, json: { id: '../etc' } }],
  ['sandboxes.twice', 'warn', { at: 'POST /spawn', body: (body) => body.replace('svc_runtime', 'other') }],
  ['sandboxes.status', 'fail', { at: 'GET /status/', says: (piece) => piece.replace('running', 'up') }],
  [
    'sandboxes.status',
    'fail',
    { at: 'GET /status/', says: (piece) => piece.replace(/"id":"[^"]+"/, '"id":"other"') },
  ],
  [
    'sandboxes.unknown',
    'fail',
    { at: 'GET /status/none', turns: (status) => (status === 404 ? 200 : status) },
  ],
  ['sandboxes.list', 'warn', { at: 'GET /sandboxes', status: 404 }],
  ['sandboxes.list', 'warn', { at: 'GET /sandboxes', says: (piece) => piece.replaceAll('svc_', '') }],
  [
    'commands.status',
    'fail',
    { at: 'POST /exec', says: (piece) => piece.replace('"exit_code":7', '"exit_code":0') },
  ],
  [
    'commands.arguments',
    'fail',
    { at: 'POST /exec', asked: 'printf', body: (body) => body.replace("it's", 'its') },
  ],
  [
    'commands.outputs',
    'fail',
    {
      at: 'POST /exec',
      says: (piece) =>
        piece.replace(
          `"stderr","encoding":"base64","data":"${base64('err\n')}`,
          `"stdout","encoding":"base64","data":"${base64('err\n')}`,
        ),
    },
  ],
  [
    'commands.bytes',
    'fail',
    {
      at: 'POST /exec',
      asked: '377',
      says: (piece) =>
        piece.replace(
          /"encoding":"base64","data":"([^"]+)"/g,
          (_, data) =>
            `"data":"${Buffer.from(data, 'base64')
              .toString('ascii')
              .replace(/[^a-z]/g, '?')}"`,
        ),
    },
  ],
  ['commands.env', 'fail', { at: 'POST /exec', asked: 'WORD', body: without('env') }],
  ['commands.stdin', 'fail', { at: 'POST /exec', body: without('stdin_base64') }],
  ['commands.no_stdin', 'fail', { at: 'POST /exec', asked: '"timeout":10', body: withMore({ stdin: 'x' }) }],
  [
    'commands.missing',
    'fail',
    { at: 'POST /exec', asked: '/no/such', says: (piece) => piece.replace('127', '1') },
  ],
  [
    'commands.workdir',
    'warn',
    { at: 'POST /exec', asked: 'workspace/none', turns: (status) => (status === 400 ? 500 : status) },
  ],
  ['commands.unknown', 'fail', { at: 'POST /exec', asked: 'none-of-this', turns: () => 500 }],
  ['files.write', 'fail', { at: 'POST /files?', status: 500 }],
  ['files.read', 'fail', { at: 'GET /files?', says: (piece) => piece.replace('0123', '3210') }],
  ['files.range', 'fail', { at: 'GET /files?', says: (piece) => (piece === '89' ? '8' : piece) }],
  ['files.range_outside', 'fail', { at: 'GET /files?', turns: (status) => (status === 416 ? 200 : status) }],
  ['files.empty', 'fail', { at: 'POST /files?', takes: refuseEmpty }],
  [
    'files.large',
    'fail',
    { at: 'GET /files?', says: (piece) => piece.replace('svc conformance ', 'SVC conformance ') },
  ],
  ['files.cut', 'fail', { at: 'POST /files?', takes: keepHalf }],
  [
    'files.shared',
    'fail',
    {
      at: 'POST /exec',
      asked: 'cat svc-conformance',
      body: withMore({ workdir: '/workspace/svc-conformance' }),
    },
  ],
  ['files.stat', 'fail', { at: 'GET /files/stat', says: (piece) => piece.replace('"size":10', '"size":11') }],
  ['files.missing', 'fail', { at: 'GET /files/stat', turns: (status) => (status === 404 ? 500 : status) }],
  ['files.gone', 'fail', { at: 'GET /files/stat', turns: (status) => (status === 410 ? 404 : status) }],
  ['files.list', 'fail', { at: 'GET /files/list', url: (url) => url.replace('depth=2', 'depth=1') }],
  ['files.glob', 'fail', { at: 'GET /files/glob', status: 200, json: [] }],
  ['files.mkdir', 'fail', { at: 'POST /files/mkdir', turns: (status) => (status === 409 ? 200 : status) }],
  ['files.move', 'fail', { at: 'POST /files/move', status: 200 }],
  ['files.chmod', 'fail', { at: 'POST /files/chmod', status: 204 }],
  [
    'files.remove',
    'fail',
    { at: 'DELETE /files', url: (url) => url.replace('recursive=false', 'recursive=true') },
  ],
  ['course.streams', 'warn', { at: 'POST /exec', asked: 'echo one; sleep', takes: lateAnswer }],
  [
    'course.large',
    'fail',
    { at: 'POST /exec', asked: '33554432', body: (body) => body.replace('33554432', '33554431') },
  ],
  [
    'course.timeout',
    'fail',
    {
      at: 'POST /exec',
      asked: '"timeout":0.5',
      says: (piece) => piece.replace('"timed_out":true', '"late":true'),
    },
  ],
  ['course.hang_up', 'fail', { at: 'POST /exec', asked: 'svc-tick', takes: neverClosed }],
  [
    'course.at_once',
    'fail',
    {
      at: 'POST /exec',
      asked: 'sleep 1; echo 3',
      says: (piece) => piece.replace(base64('3\n'), base64('4\n')),
    },
  ],
  ['end.destroy', 'fail', { at: 'DELETE /sandboxes', status: 200 }],
  ['end.again', 'fail', { at: 'DELETE /sandboxes', turns: (status) => (status === 404 ? 500 : status) }],
];

function refuseEmpty({ req, res, pass }: TakenCall): void {
  if (req.headers['content-length'] === '0') res.writeHead(400).end();
  else pass();
}

/** Writes in place, piece by piece. */
function keepHalf({ req, res, backend }: TakenCall): void {
  const { searchParams } = new URL(req.url ?? '', 'http://x');
  const folder = backend.sandboxes.get(searchParams.get('sandbox_id') ?? '')?.folder ?? '';
  const path = join(folder, (searchParams.get('path') ?? '').slice('/workspace'.length));
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, '');
  req.on('data', (piece) => appendFileSync(path, piece)).on('error', () => undefined);
  req.on('end', () => res.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
}

function lateAnswer({ res, pass }: TakenCall): void {
  const [write, end] = [res.write.bind(res), res.end.bind(res)];
  const kept: unknown[] = [];
  Object.assign(res, {
    flushHeaders: () => res,
    write: (piece: unknown) => kept.push(piece) > 0,
    end: (piece: unknown) => {
      for (const each of kept) write(each);
      end(piece);
    },
  });
  pass();
}

/** Nobody is told that the caller has gone. */
function neverClosed({ res, pass }: TakenCall): void {
  const once = res.once.bind(res);
  Object.assign(res, { once: (name: string, run: () => void) => (name === 'close' ? res : once(name, run)) });
  pass();
}

/** Others need what these say: broken with others, they would hide them. */
const ALONE =
  /^(?:reach\.health|sandboxes\.(?:spawn|status|unknown)|commands\.status|files\.(?:write|read|stat))$/;
/** They last for seconds: in sight only where they are what is broken. */
const SLOW = /^(?:course|end\.destroy|files\.(?:cut|large))/;

type Broken = (typeof BROKEN)[number];

/** Each with what is broken in one backend: as many at once as do not hide each other, neighbours apart. */
function backends(): [name: string, broken: readonly Broken[]][] {
  const groups: Broken[][] = [[], [], []];
  const rest = BROKEN.filter(([rule]) => !ALONE.test(rule));
  for (const [n, each] of rest.entries()) groups[n % groups.length]?.push(each);
  const alone = BROKEN.filter(([rule]) => ALONE.test(rule)).map((each) => [each]);
  return [...alone, ...groups].map((broken) => [broken.map(([rule]) => rule).join(', '), broken]);
}

interface Examination {
  wanted?: (id: string) => boolean;
  patienceMs?: number;
}

async function examine(url: string, { wanted = () => true, ...options }: Examination = {}) {
  const signal = AbortSignal.timeout(90_000);
  const config = { ...customConfig(url), base_url: url };
  const plan = planConformance({ clock: realClock(), random: realRandom(), config, signal, ...options });
  for (const { checks } of plan.groups) for (const { id, run } of checks) if (wanted(id)) await run();
  const { groups } = await plan.finish();
  return groups.flatMap(({ checks }) => checks);
}

const isBad = ({ verdict }: { verdict: Verdict }) => verdict === 'fail' || verdict === 'warn';

describeWith(['bwrap'], 'conformance', () => {
  let backend: CustomBackend;
  beforeAll(async () => {
    backend = await customBackend();
  });
  afterAll(async () => {
    for (const { folder } of backend.sandboxes.values()) removeFolder(folder);
    await backend.close();
  });

  it('of the example backend passes without leftovers, and all rules but the last are broken below', async () => {
    const checks = await examine(backend.url);
    expect(checks.filter(({ verdict }) => verdict !== 'pass')).toEqual([]);
    expect(checks.length).toBeGreaterThan(40);
    expect([...backend.sandboxes.keys()]).toEqual([]);
    const covered = new Set(BROKEN.map(([rule]) => rule));
    expect(checks.map(({ id }) => id).filter((rule) => !covered.has(rule))).toEqual(['end.nothing_left']);
  });

  describe.concurrent('a broken backend fails only the rules that it breaks', () => {
    it.each(backends())('%s', async (_, broken) => {
      const rules = broken.map(([rule]) => rule);
      const front = await brokenBackend(
        backend,
        broken.map(([, , change]) => change),
      );
      try {
        const wanted = (id: string) => rules.includes(id) || !SLOW.test(id);
        const found = (await examine(front.url, { wanted, patienceMs: 2000 })).filter(isBad);
        const verdicts = broken.map(([rule, verdict]) => [rule, verdict]);
        expect(found.map(({ id, verdict }) => [id, verdict]).sort(), JSON.stringify(found)).toEqual(
          verdicts.sort(),
        );
        for (const { fix } of found) expect(fix).toMatch(/docs\/custom-provider\.md/);
      } finally {
        await front.close();
      }
    });
  });

  it('of a missing backend fails to reach it, and skips the rest', async () => {
    const checks = await examine('http://127.0.0.1:1', { wanted: (id) => !SLOW.test(id) });
    expect(checks.find(({ id }) => id === 'reach.health')).toMatchObject({ verdict: 'fail' });
    expect(checks.some(({ verdict }) => verdict === 'pass')).toBe(false);
  });
});
