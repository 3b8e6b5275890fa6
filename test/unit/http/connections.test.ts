// Who may connect, and who is closed without an answer.
import { EventEmitter } from 'node:events';
import type { Server, Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { limitConnections, mostConnections } from '../../../src/http/connections.ts';
import { fakeClock, recordingLogger } from '../../support/fakes/ports.ts';

class Peer extends EventEmitter {
  readonly remoteAddress: string;
  destroyed = false;
  constructor(remoteAddress: string) {
    super();
    this.remoteAddress = remoteAddress;
  }
  destroy() {
    this.destroyed = true;
    this.emit('close');
  }
}

function listening(perAddress: number, unbounded: string[] = []) {
  const server = new EventEmitter() as unknown as Server;
  const [clock, logger] = [fakeClock(), recordingLogger()];
  limitConnections(server, { most: 100, perAddress, unbounded }, { clock, logger });
  const connect = (address: string) => {
    const peer = new Peer(address);
    server.emit('connection', peer as unknown as Socket);
    return peer;
  };
  /** How many of `count` are taken. */
  const taken = (address: string, count: number) =>
    Array.from({ length: count }, () => connect(address)).filter(({ destroyed }) => !destroyed).length;
  return { server, clock, logger, connect, taken };
}

describe('one address', () => {
  it('has a connection limit, and a new connection for each closed one', () => {
    const { connect, taken } = listening(3);
    const first = connect('203.0.113.1');
    expect(taken('203.0.113.1', 9)).toBe(2);
    expect(taken('203.0.113.2', 9)).toBe(3);
    first.destroy();
    expect(taken('203.0.113.1', 9)).toBe(1);
  });

  it('is a /64 network of IPv6, or an IPv4 address in any notation', () => {
    const { taken } = listening(3);
    expect(taken('2001:db8::1', 2) + taken('2001:db8::ffff', 9)).toBe(3);
    expect(taken('2001:db8:0:1::1', 9)).toBe(3);
    expect(taken('203.0.113.1', 2) + taken('::ffff:203.0.113.1', 9)).toBe(3);
  });

  it('of loopback or a trusted proxy has no limit', () => {
    const { taken } = listening(3, ['10.0.0.0/8', 'fd00::/8']);
    for (const address of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1', '10.1.2.3', 'fd00::7'])
      expect(taken(address, 20)).toBe(20);
    expect(taken('11.0.0.1', 20)).toBe(3);
  });

  it('counts a connection once when an upgrade returns it', () => {
    const { server, connect, taken } = listening(3);
    const upgraded = connect('203.0.113.1');
    server.emit('connection', upgraded as unknown as Socket);
    expect(taken('203.0.113.1', 9)).toBe(2);
  });

  it('has no limit where configured', () => {
    expect(listening(0).taken('203.0.113.1', 50)).toBe(50);
  });
});

it('logs refusals at once, and then at most every 10 s', async () => {
  const { server, clock, logger, taken } = listening(1);
  taken('203.0.113.1', 1000);
  for (let n = 0; n < 1000; n += 1) server.emit('drop');
  expect(logger.lines.map(({ fields }) => fields)).toEqual([
    { refused: 1, address: '203.0.113.1', most: 1 },
    { refused: 1, most: 100 },
  ]);
  await clock.advance(10_000);
  expect(logger.lines.slice(2).map(({ fields }) => fields)).toEqual([
    { refused: 998, address: '203.0.113.1', most: 1 },
    { refused: 999, most: 100 },
  ]);
  await clock.advance(60_000);
  expect(logger.lines).toHaveLength(4);
  taken('203.0.113.1', 1);
  expect(logger.lines).toHaveLength(5);
});

it('all addresses together have a limit that follows the number of descriptors', () => {
  expect(mostConnections(0, 1_048_576)).toBe(20_000);
  expect(mostConnections(0, 4096)).toBe(3072);
  expect(mostConnections(100_000, 4096)).toBe(3072);
  expect(mostConnections(0, 2048)).toBe(1024);
  expect(mostConnections(0, 20_000)).toBe(15_000);
  expect(mostConnections(100, 4096)).toBe(100);
  expect(mostConnections(0, 10)).toBe(16);
  expect(mostConnections(0, Number.POSITIVE_INFINITY)).toBe(20_000);
});
