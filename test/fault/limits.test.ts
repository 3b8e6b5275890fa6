// A server that meets the limits of its own process: no more descriptors, no more processes, a log that nobody reads, signals
// by the hundred, a pause as long as a deadline, an end in the middle of work. It fails closed, and goes on.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { countFaults } from '../../proof/faulted.ts';
import type { Sandbox } from '../../src/schema/sandbox.ts';
import { agents, NOTHING, remains } from '../support/checks/auditor.ts';
import { describeWith } from '../support/requires.ts';
import { type Answer, type Api, api } from '../support/servers/api.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const SETTLE_MS = 60_000;
/** What a caller may hear of a limit that the server meets. */
const REFUSALS = ['unavailable', 'resource_limit', 'provider_error'];
const PIDS = '/sys/fs/cgroup/pids';

describeWith(['root', 'unshare'], 'a server at its limits', () => {
  countFaults('limits of the server');
  let server: TestServer;
  let client: Api;
  const seen: string[] = [];
  const spawn = async (ttl = '10m') => {
    const answer = await client.call<Sandbox>('POST', '/sandboxes', { ttl });
    if (answer.status === 201) seen.push(answer.body.id);
    return answer;
  };
  const descriptors = () => readdirSync(`/proc/${server.child.pid}/fd`).length;
  const agentsNow = () => agents([server.instance, server.home]).length;
  const rows = async () => (await client.call<Sandbox[]>('GET', '/sandboxes')).body;
  beforeAll(async () => {
    server = await startServer();
    client = api(server.url);
  });
  afterAll(async () => {
    await server?.kill();
    if (server) removeHome(server.home);
  });

  const refusedAsOurs = ({ body }: Answer<unknown>) => {
    expect(REFUSALS).toContain((body as { code?: string }).code);
    expect(JSON.stringify(body)).not.toMatch(/EMFILE|EAGAIN|ENFILE|spawn |\/tmp|errno/);
  };
  const allIsWell = async () => {
    await until('a spawn', async () => (await spawn()).status === 201, SETTLE_MS);
    await until(
      'runtimes to be those of the rows',
      async () => agentsNow() === (await rows()).length,
      SETTLE_MS,
    );
    for (const { id } of await rows()) await client.destroy(id);
    await until(
      'no leftovers',
      () => JSON.stringify(remains(server, seen)) === JSON.stringify(NOTHING),
      SETTLE_MS,
    );
  };

  it('rejects calls without free descriptors, and accepts them again afterwards', async () => {
    const pid = String(server.child.pid);
    const limit = (soft: string) => execFileSync('prlimit', ['--pid', pid, `--nofile=${soft}:`]);
    const options = ['--pid', pid, '--nofile', '-o', 'SOFT', '--noheadings'];
    const usual = execFileSync('prlimit', options, { encoding: 'utf8' }).trim();
    const before = descriptors();
    await client.call('GET', '/live');
    limit(String(descriptors() + 2));
    refusedAsOurs(await spawn());
    const idle = await Promise.all(Array.from({ length: 60 }, () => connected(server.url)));
    limit(usual);
    for (const socket of idle) socket.destroy();
    await allIsWell();
    await until('descriptors to be given back', () => descriptors() <= before + 8, SETTLE_MS);
  });

  it('ends no sandbox when it reconciles without free descriptors, and answers 503', async () => {
    const lost = await startServer({ env: { SVC_PROVIDERS_RECONCILE_INTERVAL: '1s' } });
    const own = api(lost.url);
    try {
      const sandbox = await own.spawn({ ttl: '10m' });
      const limits = (soft: string) =>
        execFileSync('prlimit', ['--pid', `${lost.child.pid}`, `--nofile=${soft}:`]);
      const usual =
        /^Max open files +(\d+)/m.exec(readFileSync(`/proc/${lost.child.pid}/limits`, 'utf8'))?.[1] ?? '';
      await own.call('GET', '/live');
      limits('3');
      // Several comparisons, each of which could open no file.
      await pause(4000);
      expect((await own.call('POST', `/sandboxes/${sandbox.id}/exec`, { command: 'true' })).status).toBe(503);
      await pause(1500);
      expect((await own.call('GET', `/sandboxes/${sandbox.id}`)).status).toBe(200);
      limits(usual);
      await until('it to answer', async () => {
        const { status } = await own.call('POST', `/sandboxes/${sandbox.id}/exec`, { command: 'true' });
        return status === 200;
      });
      expect(lost.log()).not.toContain('runtime_lost');
      await own.destroy(sandbox.id);
    } finally {
      await lost.kill();
      removeHome(lost.home);
    }
  });

  it.runIf(existsSync(PIDS))('rejects spawns at the process limit, and spawns again below it', async () => {
    const group = join(PIDS, `svc-test-${process.pid}`);
    const home = readFileSync(`/proc/${server.child.pid}/cgroup`, 'utf8').match(/:pids:(.*)/)?.[1] ?? '/';
    mkdirSync(group);
    try {
      // The launcher is a process of its own, and forks the sandboxes.
      const ours = [server.child.pid!, ...childrenOf(server.child.pid!)];
      for (const pid of ours) writeFileSync(join(group, 'cgroup.procs'), String(pid));
      writeFileSync(join(group, 'pids.max'), readFileSync(join(group, 'pids.current'), 'utf8'));
      refusedAsOurs(await spawn());
      expect((await client.call('GET', '/live')).status).toBe(200);
      writeFileSync(join(group, 'pids.max'), 'max');
      await allIsWell();
    } finally {
      writeFileSync(join(group, 'pids.max'), 'max');
      for (const pid of readFileSync(join(group, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean))
        writeFileSync(join(PIDS, home, 'cgroup.procs'), pid);
      rmdirSync(group);
    }
  });

  it('answers while nobody reads its log', async () => {
    const memory = () =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.child.pid}/status`, 'utf8'))?.[1]) / 1024;
    const noisy = async (times: number) => {
      for (let i = 0; i < times; i += 1)
        await Promise.all(
          Array.from({ length: 50 }, () => client.call('GET', `/sandboxes/sb-${'x'.repeat(200)}`)),
        );
    };
    await noisy(3);
    const before = memory();
    server.child.stderr?.pause();
    await noisy(20);
    expect(memory()).toBeLessThan(before + 60);
    server.child.stderr?.resume();
    await allIsWell();
  });

  it('survives hundreds of signals', async () => {
    const { body } = await spawn();
    const storm = (['SIGHUP', 'SIGUSR2', 'SIGWINCH', 'SIGPIPE', 'SIGCONT', 'SIGCHLD'] as const).filter(
      (name) => name !== 'SIGUSR2' || catches(server.child.pid!, 12),
    );
    for (let i = 0; i < 100; i += 1) for (const name of storm) server.child.kill(name);
    expect(await client.sh((body as Sandbox).id, 'echo on')).toMatchObject({ stdout: 'on\n' });
    await allIsWell();
  });

  it('ends an expired sandbox once after a pause longer than its TTL, and keeps its caps', async () => {
    const { body } = await spawn('3s');
    server.child.kill('SIGSTOP');
    const waiting = Array.from({ length: 5 }, () => spawn());
    await pause(4_000);
    server.child.kill('SIGCONT');
    for (const answer of await Promise.all(waiting)) expect(answer.status).toBe(201);
    const { id } = body as Sandbox;
    await until(
      'its end',
      async () => {
        const state = (await client.call<Sandbox>('GET', `/sandboxes/${id}`)).body.state;
        return state === 'destroyed' || state === undefined;
      },
      SETTLE_MS,
    );
    await allIsWell();
  });

  it('stops in order under load after the reader of its log has ended', async () => {
    server.child.stderr?.destroy();
    const isOver = { value: false };
    const worker = async () => {
      while (!isOver.value) await spawn().catch(() => undefined);
    };
    const workers = [worker(), worker(), worker(), worker()];
    await until('some work', () => agentsNow() >= 3, SETTLE_MS);
    const code = await server.stop();
    isOver.value = true;
    await Promise.all(workers);
    expect(code).toBe(0);
    const known = server;
    server = await startServer({ home: known.home });
    client = api(server.url);
    await allIsWell();
  });
});

function connected(url: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  return new Promise((resolve) =>
    socket.once('connect', () => resolve(socket)).once('close', () => resolve(socket)),
  );
}

const childrenOf = (pid: number): number[] => {
  const own = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .trim()
    .split(' ')
    .filter(Boolean)
    .map(Number);
  return own.flatMap((each) => [each, ...childrenOf(each)]);
};

/** Whether the process has a handler for the signal: SIGUSR2 ends who has none, by the kernel's rule. */
function catches(pid: number, signal: number): boolean {
  const mask = /SigCgt:\s+(\w+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '0';
  return ((BigInt(`0x${mask}`) >> BigInt(signal - 1)) & 1n) === 1n;
}
