// One of many sandboxes burns a processor: it is found in one look by `svc top`, the console and Prometheus, and what its owner used
// in the month is the same as CSV, by sandbox, and as a sum, through a kill of the server. SVC_TEST_SHOW is the number of sandboxes.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { LiveUsage, SandboxUsageRow, UsageReport } from '../../src/schema/usage.ts';
import { NOTHING, remains } from '../support/checks/auditor.ts';
import { removeFolder } from '../support/remove.ts';
import { describeWith } from '../support/requires.ts';
import { type Api, api } from '../support/servers/api.ts';
import { startBrowser } from '../support/servers/browser.ts';
import { openConsole } from '../support/servers/console-page.ts';
import { runCli } from '../support/servers/run-cli.ts';
import { cli, makeHome, removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const COUNT = Number(process.env.SVC_TEST_SHOW ?? 40);
const OWNERS = 20;
const AT_ONCE = 8;
const BURNER = 'owner-7';
const MINUTES = 60_000;
/** All sandboxes are measured in one interval, and a start is seen by the next list. */
const PATIENCE = 2 * MINUTES;
const ENV = {
  SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare',
  SVC_PROVIDERS_DEFAULT: 'userspace',
  SVC_DEFAULTS_MAX_SANDBOXES: '0',
  SVC_USAGE_INTERVAL: '2s',
  SVC_USAGE_EXPOSED_OWNERS: BURNER,
};

/** `work` for each, some at a time. */
async function each<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  const left = [...all];
  const next = async () => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) await work(one);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
}

describeWith(['root', 'unshare', 'chromium', 'tmux'], `one of ${COUNT} sandboxes burns a processor`, () => {
  let home: string;
  let server: TestServer;
  let client: Api;
  let burner = '';
  const ids: string[] = [];

  const start = async (env: Record<string, string> = {}) => {
    server = await startServer({ home, env: { ...ENV, ...env }, onWorker: false });
    client = api(server.url);
  };
  const get = async <T>(path: string): Promise<T> => {
    const { status, body } = await client.call<T>('GET', path);
    expect(status).toBe(200);
    return body;
  };
  const svc = (...args: string[]) => runCli(args, { SVC_SERVER: server.url });
  const live = () => get<LiveUsage>('/usage/sandboxes?sort=cpu&limit=3');
  const burns = () =>
    until(
      'the burner to be first',
      async () => {
        const [first] = (await live()).sandboxes;
        return first?.sandbox_id === burner && (first.cpu_percent ?? 0) > 10;
      },
      PATIENCE,
    );

  beforeAll(
    async () => {
      home = makeHome();
      await start();
      await each([...Array(COUNT).keys()], async (n) => {
        const made = await client.call<{ id: string }>(
          ...([
            'POST',
            '/sandboxes',
            { memory_mb: 64, ttl: '2h' },
            { 'x-user-id': `owner-${n % OWNERS}` },
          ] as const),
        );
        expect(made.status).toBe(201);
        ids.push(made.body.id);
        if (n === 7) burner = made.body.id;
      });
      const burn = { command: 'while :; do :; done', detach: true };
      expect((await client.call('POST', `/sandboxes/${burner}/exec`, burn)).status).toBe(202);
    },
    2 * MINUTES + COUNT * 400,
  );
  afterAll(
    async () => {
      await each(ids, (id) => client.destroy(id));
      expect(remains(server, ids)).toEqual(NOTHING);
      await server.stop();
      removeHome(home);
    },
    MINUTES + COUNT * 400,
  );

  it('svc top has it in its first row, and its owner first among owners', async () => {
    await burns();
    const table = await svc('top', '--once', '--rows', '3');
    expect(table.code).toBe(0);
    const [head, , titles, first] = table.stdout.split('\n');
    expect(head).toContain(`${COUNT} sandboxes`);
    expect(titles).toMatch(/^SANDBOX +CPU%/);
    expect(first).toMatch(new RegExp(`^${burner} .* ${BURNER} `));
    const owners = await svc('top', '--once', '--owners');
    expect(owners.stdout.split('\n')[3]).toMatch(new RegExp(`^${BURNER} `));
    const line = JSON.parse((await svc('top', '--json', '--count', '1')).stdout) as LiveUsage;
    expect(line.matching).toBe(COUNT);
    expect(line.sandboxes[0]?.sandbox_id).toBe(burner);
    const found = await get<LiveUsage>(`/usage/sandboxes?q=${BURNER.toUpperCase()}&limit=1000`);
    const named = found.sandboxes.filter(({ owner_id = '' }) => owner_id.includes(BURNER));
    expect(named).toHaveLength(found.matching);
  });

  it('the console has it first on its first screen', async () => {
    const browser = await startBrowser();
    const { page, shows, wrongs } = await openConsole(browser, `${server.url}/console/`);
    await shows('Sandboxes that use most');
    const first = "document.querySelector('.bars.used li')?.innerText";
    await until('the burner is first', async () => (await page.evaluate<string>(first))?.includes(burner));
    expect(await page.evaluate<string>(first)).toMatch(new RegExp(`${BURNER}[\\s\\S]*\\d %`));
    expect(await wrongs()).toEqual([]);
    await browser.close();
  });

  it('Prometheus has its processor time by provider, and by its owner, whom the configuration names', async () => {
    const metrics = await (await client.raw('/metrics/prometheus')).text();
    const value = (name: string) => Number(new RegExp(`^${name} (\\S+)`, 'm').exec(metrics)?.[1]);
    const all = value('svc_sandbox_cpu_seconds_total\\{provider="userspace"\\}');
    const its = value(`svc_owner_cpu_seconds_total\\{owner="${BURNER}"\\}`);
    const others = value('svc_owner_cpu_seconds_total\\{owner="other"\\}');
    expect(its).toBeGreaterThan(others);
    expect(all).toBeCloseTo(its + others, 3);
    expect(value('svc_owner_sandboxes\\{owner="other"\\}')).toBe(COUNT - COUNT / OWNERS);
    expect(metrics).not.toContain(burner);
  });

  it('the month of its owner is the sum of its rows, as JSON and CSV, through a kill of the server', async () => {
    const { port } = new URL(server.url);
    await server.kill();
    await start({ SVC_SERVER_PORT: port });
    await burns();
    const rowsOf = async () => get<SandboxUsageRow[]>(`/owners/${BURNER}/usage/sandboxes?limit=1000`);
    const mine = new Set((await rowsOf()).map(({ sandbox_id }) => sandbox_id));
    expect(mine.size).toBe(COUNT / OWNERS);
    await each([...mine], (id) => client.destroy(id));
    await until(
      'the ledger to have them all',
      async () => (await rowsOf()).every(({ ended_at, metered_to }) => ended_at === metered_to),
      PATIENCE,
    );
    const rows = await rowsOf();
    const { total } = await get<UsageReport>(`/owners/${BURNER}/usage?step=total`);
    const csv = await (await client.raw(`/owners/${BURNER}/usage/sandboxes?format=csv`)).text();
    const days = await (await client.raw(`/owners/${BURNER}/usage?step=hour&format=csv`)).text();
    const command = await svc('usage', 'owner', BURNER, '--sandboxes', '--csv');
    expect(command.stdout).toBe(csv);
    expect(rows.some(({ estimated }) => estimated)).toBe(false);
    const burnt = rows.find(({ sandbox_id }) => sandbox_id === burner);
    expect(burnt?.cpu_seconds).toBeGreaterThan(1);
    for (const name of ['sandbox_seconds', 'cpu_seconds', 'memory_mib_seconds', 'execs'] as const) {
      // Whole numbers inside: sums are exact to the last digit that is shown.
      const micro = (value: number) => Math.round(value * 1e6);
      const sum = rows.reduce((all, row) => all + micro(row[name]), 0);
      expect([name, sum]).toEqual([name, micro(total[name])]);
      for (const text of [csv, days]) expect([name, summed(text, name)]).toEqual([name, micro(total[name])]);
    }
    for (const id of mine) ids.splice(ids.indexOf(id), 1);
  });

  it('keys of svc top filter, show one sandbox, end it after a question, and leave the terminal as it was', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-tmux-'));
    const tmux = (...args: string[]) =>
      execFileSync('tmux', ['-S', join(folder, 's'), '-f', '/dev/null', ...args], { encoding: 'utf8' });
    const screen = () => tmux('capture-pane', '-p');
    const shows = (what: RegExp) =>
      until(`the screen to show ${what}`, () => what.test(screen()), 40_000).catch((error: Error) => {
        throw new Error(`${error.message}\n${screen()}`);
      });
    const [victim] = ids as [string];
    try {
      const line = `stty -g >${folder}/a; SVC_SERVER=${server.url} ${process.execPath} ${cli} top; stty -g >${folder}/b; cmp ${folder}/a ${folder}/b && echo the same; sleep 1000`;
      tmux('new-session', '-d', '-x', '100', '-y', '30', line);
      await shows(/^SANDBOX +CPU%/m);
      tmux('send-keys', 'w');
      await shows(/^local +online/m);
      tmux('send-keys', 'w', '/');
      tmux('send-keys', '-l', victim);
      await shows(new RegExp(`^svc top +1 sandbox .*with ${victim}`, 'm'));
      tmux('send-keys', 'Enter', 'Down', 'Enter');
      await shows(new RegExp(`^SANDBOX ${victim}$`, 'm'));
      await shows(/^cpu +[\d.]+ %/m);
      tmux('resize-window', '-x', '60', '-y', '20');
      tmux('send-keys', 't');
      await shows(/[$#] ?$/m);
      tmux('send-keys', 'echo in""side; exit', 'Enter');
      await shows(/^inside$|^owner /m);
      await shows(new RegExp(`^SANDBOX ${victim}$`, 'm'));
      tmux('send-keys', 'x');
      await shows(/End sb-.*y: end it/);
      tmux('send-keys', 'n', 'x', 'y');
      await shows(/has ended\.|no use of such|There is no/);
      expect((await client.call('GET', `/sandboxes/${victim}`)).body).toMatchObject({
        details: { end_reason: 'destroyed' },
      });
      tmux('send-keys', 'q');
      await shows(/^the same$/m);
    } finally {
      spawnSync('tmux', ['-S', join(folder, 's'), 'kill-server']);
      removeFolder(folder);
    }
  });
});

/** Of a column of CSV, in millionths. */
function summed(csv: string, name: string): number {
  const [head = '', ...lines] = csv.trimEnd().split('\r\n');
  const at = head.split(',').indexOf(name);
  return lines.reduce((all, line) => all + Math.round(Number(line.split(',')[at]) * 1e6), 0);
}
