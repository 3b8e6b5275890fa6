// Connections that leave a sandbox by its proxy port, through the real agent.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import type { SandboxGate } from '../../src/agent/gate-io.ts';
import type { AgentIo } from '../../src/agent/io.ts';
import { freePort } from '../support/free-port.ts';
import { startAgent, startRelayedAgent } from '../support/hosts/real-agent.ts';
import { describeWith } from '../support/requires.ts';

function gateOf(io: AgentIo): SandboxGate {
  if (!io.gate) throw new Error('the agent has no gate');
  return io.gate;
}

/** A program of the sandbox that connects. */
function program(port: number): Socket {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  return socket;
}

async function opened() {
  const agent = await startAgent();
  const gate = gateOf(await agent.open());
  const port = await freePort();
  expect(await gate.open({ proxy_port: port })).toEqual({ proxy: true, gate: false, missing: [] });
  return { agent, gate, port };
}

describeWith(['cc'], 'the gate of a sandbox', () => {
  test('carries both directions to their ends, and names the user and the port', async () => {
    const { gate, port } = await opened();
    const accepted = gate.accept();
    const client = program(port);
    const { socket, origin } = await accepted;
    expect(origin).toEqual({ uid: process.getuid?.(), peerPort: client.localPort });
    const body = Buffer.alloc(4 * 1024 * 1024, 'abcdefghi');
    client.end(body);
    socket.pipe(socket);
    expect((await buffer(client)).equals(body)).toBe(true);
  });

  test('keeps connections for the next session', async () => {
    const { agent, port } = await opened();
    const client = program(port);
    client.end('early');
    const { socket } = await gateOf(await agent.open()).accept();
    expect((await buffer(socket)).toString()).toBe('early');
  });

  test('resets a connection that the host destroys', async () => {
    const { gate, port } = await opened();
    const client = program(port);
    const { socket } = await gate.accept();
    const failed = once(client, 'error');
    socket.destroy();
    expect(await failed).toMatchObject([{ code: 'ECONNRESET' }]);
  });

  test('trusts nothing where there is no folder for it', async () => {
    const { gate } = await opened();
    expect(await gate.trust?.('a certificate', 'roots')).toEqual({ files: false, system: false });
  });

  test('leaves the next connection to others when a wait is aborted', async () => {
    const { gate, port } = await opened();
    const abort = new AbortController();
    const aborted = gate.accept(abort.signal);
    const next = gate.accept();
    abort.abort(new Error('stop'));
    await expect(aborted).rejects.toThrow('stop');
    const client = program(port);
    expect((await next).origin.peerPort).toBe(client.localPort);
  });

  test('waits with 256 streams at most, and leaves room for commands', async () => {
    const { agent } = await opened();
    const io = await agent.open();
    const gate = gateOf(io);
    const waits = Array.from({ length: 256 }, () => {
      const abort = new AbortController();
      return { abort, settled: gate.accept(abort.signal).catch((error: Error) => error.message) };
    });
    await expect(gate.accept()).rejects.toMatchObject({ code: 'resource_limit' });
    await io.ping();
    await io.files.list('/', 1);
    for (const { abort } of waits) abort.abort(new Error('stop'));
    expect(new Set(await Promise.all(waits.map(({ settled }) => settled)))).toEqual(new Set(['stop']));
  });

  test('says when another program has the port, and closes', async () => {
    const { gate, port } = await opened();
    const other = gateOf(await (await startAgent()).open());
    expect(await other.open({ proxy_port: port })).toMatchObject({ proxy: false });
    expect(await gate.open({ proxy_port: 0 })).toMatchObject({ proxy: true });
    expect(await other.open({ proxy_port: port })).toMatchObject({ proxy: true });
  });

  test('ends a wait with its session', async () => {
    const { agent, gate } = await opened();
    const wait = expect(gate.accept()).rejects.toMatchObject({ code: 'unavailable' });
    await agent.open();
    await wait;
  });

  test('is not offered to further hosts of a session', async () => {
    const io = await (await startRelayedAgent()).open();
    expect(io.gate).toBeUndefined();
  });
});
