// The end of a sandbox holds without the server: killed with SIGKILL, it leaves sandboxes that end at their time, and its
// successor says so. What runs is read from the kernel and the engine, never from our API.
import { execFileSync } from 'node:child_process';
import { afterEach, expect, it } from 'vitest';
import type { Sandbox } from '../../src/schema/sandbox.ts';
import { agents, NOTHING, remains } from '../support/checks/auditor.ts';
import { eachRuntime, inContainer, inContainers, inMachine, type Runtime } from '../support/hosts/matrix.ts';
import { machineProcesses } from '../support/hosts/microvm.ts';
import { describeWith } from '../support/requires.ts';
import { api } from '../support/servers/api.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const MINUTES = 60_000;
/** Enough to kill the server before, on a busy machine. */
const SHORT_S = 6;
/** A guest that keeps every processor busy and ignores the signals that can be ignored. */
const BUSY = `for n in 1 2 3 4 5 6 7 8; do (setsid sh -c "trap '' TERM HUP INT; while :; do :; done" &) ; done`;

/** Process 1 of a namespace takes none of these from inside. */
const SIGNALS = 'kill -STOP 1; kill -KILL 1; kill -TSTP 1';
const hasClosedAgent = (runner: Kind['runner']) => ['bwrap', 'unshare', 'runc'].includes(runner);

interface Kind extends Omit<Runtime, 'runner'> {
  runner: Runtime['runner'] | 'proot';
}

/** When it ended, ms since 1970; undefined while it runs. */
function endOf({ runner, env }: Kind, id: string): number | undefined {
  if (runner === 'qemu') return machineProcesses(id).length === 0 ? Date.now() : undefined;
  if (runner !== 'runc' && runner !== 'runsc') return agents([id]).length === 0 ? Date.now() : undefined;
  const docker = (...args: string[]) =>
    execFileSync('/usr/bin/docker', ['-H', `unix://${env.SVC_PROVIDERS_CONTAINER_SOCKET}`, ...args], {
      encoding: 'utf8',
    }).trim();
  const name = docker('ps', '-aq', '--filter', `label=svc.id=${id}`);
  const [running, at = ''] = docker('inspect', '-f', '{{.State.Running}} {{.State.FinishedAt}}', name).split(
    ' ',
  );
  return running === 'true' ? undefined : Date.parse(at);
}

const late = async (kind: Kind, { id, expires_at }: Sandbox) => {
  const ended = await until('its end', () => endOf(kind, id), 4 * SHORT_S * 1000);
  return ended - Date.parse(expires_at);
};

function suite(kind: Kind): void {
  let server: TestServer | undefined;
  afterEach(async () => {
    await server?.stop();
    if (server) removeHome(server.home);
  });

  it('comes within a second of its deadline although the server was killed, and is recorded as expired', {
    timeout: 6 * MINUTES,
  }, async () => {
    const { env, ordinaryUser, runner } = kind;
    server = await startServer({ env, ordinaryUser });
    const client = api(server.url);
    const kept = await client.spawn({ ttl: '10m', memory_mb: 384 });
    if (runner !== 'qemu') await client.sh(kept.id, hasClosedAgent(runner) ? `${SIGNALS}\n${BUSY}` : BUSY);
    const shorten = await client.call<Sandbox>('POST', `/sandboxes/${kept.id}/extend`, {
      ttl: `${SHORT_S}s`,
      exact: true,
    });
    expect(shorten.status).toBe(200);
    const ending = [shorten.body];
    // A boot takes longer than that.
    if (runner !== 'qemu') ending.push(await client.spawn({ ttl: `${SHORT_S}s` }));
    // gVisor lets root stop process 1: then its kernel ends it.
    if (runner === 'runsc') void client.sh(kept.id, 'kill -STOP 1').catch(() => undefined);
    await server.kill();
    const delays = await Promise.all(ending.map((one) => late(kind, one)));
    process.stdout.write(
      `${runner}${ordinaryUser ? ', ordinary user' : ''}: ended ${delays.map(Math.round).join(' and ')} ms after its time\n`,
    );
    for (const delay of delays) expect(delay > -20 && delay < 1000, `${delay} ms`).toBe(true);
    server = await startServer({ env, ordinaryUser, home: server.home });
    const again = api(server.url);
    for (const { id, expires_at } of ending) {
      const row = () => again.call<{ details?: object }>('GET', `/sandboxes/${id}`);
      await until('its record to end', async () => (await row()).status === 404);
      expect((await row()).body.details).toMatchObject({ end_reason: 'expired', ended_at: expires_at });
    }
    await until(
      'the last folder to be removed',
      () =>
        inContainer(kind.runner as Runtime['runner']) ||
        remains(
          server!,
          ending.map(({ id }) => id),
        ).folders.length === 0,
    );
    expect(
      remains(
        server,
        ending.map(({ id }) => id),
      ),
    ).toEqual(NOTHING);
  });
}

eachRuntime([], 'the end of a sandbox', suite);
for (const ordinaryUser of [false, true])
  describeWith(
    ordinaryUser ? ['proot'] : ['root', 'proot'],
    `the end of a sandbox [proot, ${ordinaryUser ? 'an ordinary user' : 'root'}]`,
    () => suite({ runner: 'proot', ordinaryUser, env: { SVC_PROVIDERS_USERSPACE_RUNNER: 'proot' } }),
  );
inContainers(['runc', 'runsc'], { needs: [], name: 'the end of a sandbox' }, suite);
inMachine([], 'the end of a sandbox', suite);
