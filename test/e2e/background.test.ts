// Commands that run on their own: they outlive their client and the server, their tails can be read again, and they go
// with their sandbox.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Client } from '../../src/client/client.ts';
import { asServiceError } from '../../src/domain/errors.ts';
import type { ExecLine } from '../../src/schema/exec.ts';
import { NOTHING, remains } from '../support/checks/auditor.ts';
import { everywhere, onWorkers, type Runtime } from '../support/hosts/matrix.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const text = (lines: ExecLine[], stream: string) =>
  lines
    .filter((line) => line.stream === stream)
    .map(({ data }) => data)
    .join('');

/** Pieces of one stream that follow each other as one: what is kept is cut elsewhere than what is followed. */
const whole = (lines: ExecLine[]) => {
  const pieces: ExecLine[] = [];
  for (const line of lines) {
    const last = pieces.at(-1);
    if (last?.stream === line.stream) last.data += line.data;
    else pieces.push({ ...line });
  }
  return pieces;
};

const backgroundExecs = ({ env, ordinaryUser, onWorker }: Runtime) => {
  let server: TestServer;
  let client: Client;
  const open = async (home?: string) => {
    server = await startServer({ env, ordinaryUser, onWorker, ...(home && { home }) });
    client = new Client({ server: server.url });
  };
  const output = async (id: string, exec_id: string, follow = false) => {
    const lines: ExecLine[] = [];
    for await (const line of client.execs.output(id, exec_id, { follow })) lines.push(line);
    return lines;
  };

  beforeAll(() => open());
  afterAll(async () => {
    await server.stop();
    removeHome(server.home);
  });

  it('continue without a client, show their output twice, and end with their status', async () => {
    const { id } = await client.spawn();
    const exec_id = await client.execs.detach(id, {
      command: 'echo out; echo err >&2; read x < /workspace/go; exit 7',
    });
    // The program waits for a pipe that is not there yet, so it fails at once without one.
    const lines = await output(id, exec_id, true);
    expect(lines[0]).toEqual({ stream: 'start', data: '', exec_id });
    expect(text(lines, 'stdout')).toBe('out\n');
    expect(text(lines, 'stderr')).toMatch(/^err\n/);
    expect(lines.at(-1)).toMatchObject({ stream: 'exit', exit_code: 7 });
    expect(whole(await output(id, exec_id))).toEqual(whole(lines));
    expect(await client.execs.get(id, exec_id)).toMatchObject({
      state: 'exited',
      exit_code: 7,
      detached: true,
    });
    await client.destroy(id);
    expect(await client.execs.list(id)).toMatchObject([{ exec_id, state: 'exited', detached: true }]);
    expect(remains(server, [id])).toEqual(NOTHING);
  });

  it('outlive a killed server and accept signals from the next', async () => {
    const { id } = await client.spawn();
    const command = 'trap "echo bye; exit 3" TERM; echo up; while :; do sleep 0.05; done';
    const exec_id = await client.execs.detach(id, { command });
    await until('the first line', async () => text(await output(id, exec_id), 'stdout') === 'up\n');
    await server.kill();
    await open(server.home);
    expect((await client.execs.list(id)).map((item) => [item.exec_id, item.state])).toContainEqual([
      exec_id,
      'running',
    ]);
    const following = output(id, exec_id, true);
    await client.execs.signal(id, exec_id, 'TERM');
    const lines = await following;
    expect(text(lines, 'stdout')).toBe('up\nbye\n');
    expect(lines.at(-1)).toMatchObject({ stream: 'exit', exit_code: 3 });
    await expect(client.execs.signal(id, exec_id, 'TERM')).rejects.toMatchObject({ code: 'not_found' });
    await expect(client.execs.signal(id, exec_id, 'SIGNONE')).rejects.toMatchObject({ code: 'bad_request' });
    await client.destroy(id);
    expect(remains(server, [id])).toEqual(NOTHING);
  });

  it('keep the newest MiB of their output, and report that older output is missing', async () => {
    const { id } = await client.spawn();
    const exec_id = await client.execs.detach(id, { command: 'seq 1 400000' });
    await until('its end', async () => (await client.execs.get(id, exec_id)).state === 'exited');
    const lines = await output(id, exec_id);
    expect(lines[0]).toMatchObject({ stream: 'start', truncated: true });
    const kept = text(lines, 'stdout');
    expect(kept.endsWith('\n399999\n400000\n')).toBe(true);
    expect(kept.length).toBeLessThanOrEqual(1024 * 1024);
    expect(kept.length).toBeGreaterThan(512 * 1024);
    await client.destroy(id);
  });

  it('write to the console, which a client can follow until the sandbox ends', async () => {
    const { id } = await client.spawn();
    await client.execs.detach(id, { command: 'echo first; echo second' });
    await until(
      'both lines',
      async () => (await client.logs(id)).filter((line) => / (first|second)$/.test(line)).length === 2,
    );
    expect(await client.logs(id, 1)).toHaveLength(1);
    const followed: string[] = [];
    const following = (async () => {
      for await (const line of client.followLogs(id, 1)) followed.push(line);
    })();
    await until('the kept line', () => followed.length === 1);
    await client.execs.detach(id, { command: 'echo third' });
    await until('the next line', () => followed.some((line) => line.endsWith(' third')));
    await client.destroy(id);
    await following;
    expect(remains(server, [id])).toEqual(NOTHING);
  });

  it('continue when a client stops following them', async () => {
    const { id } = await client.spawn();
    const exec_id = await client.execs.detach(id, { command: 'while :; do echo x; sleep 0.05; done' });
    for await (const line of client.execs.output(id, exec_id, { follow: true }))
      if (line.stream === 'stdout') break;
    expect(await client.execs.get(id, exec_id)).toMatchObject({ state: 'running' });
    const attached = client.exec(id, { command: 'sleep 30' }).catch((error: unknown) => error);
    await until(
      'two running',
      async () => (await client.execs.list(id)).filter(({ state }) => state === 'running').length === 2,
    );
    const other = (await client.execs.list(id)).find((item) => !item.detached && item.state === 'running');
    // It is listed a moment before its program starts, and not found until then.
    const refusal = () => output(id, other?.exec_id ?? '').then(() => undefined, asServiceError);
    await until('the refusal', async () => (await refusal())?.code === 'bad_request');
    await client.destroy(id);
    expect(await attached).toMatchObject({ code: 'not_found', details: { end_reason: 'destroyed' } });
    expect(remains(server, [id])).toEqual(NOTHING);
  });

  it('refuse contradictory options', async () => {
    const { id } = await client.spawn();
    for (const more of [{ stream: true }, { stdin: 'x' }, { encoding: 'utf8' as const }])
      await expect(client.execs.detach(id, { command: 'true', ...more })).rejects.toMatchObject({
        code: 'bad_request',
      });
    const late = await client.execs.detach(id, { command: 'sleep 100', timeout: '1s' });
    const lines = await output(id, late, true);
    expect(lines.at(-1)).toMatchObject({ stream: 'exit', exit_code: 124, timed_out: true });
    await client.destroy(id);
  });
};

for (const declare of [everywhere, onWorkers]) declare([], 'background execs', backgroundExecs);
