// A control plane as a test owns it: it hears heartbeats, renews leases by its own clock, and calls workers. It keeps what it
// knows in its own book, to be compared with what really runs.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { signLease } from '../../../src/domain/lease.ts';
import { identifyWorker } from '../../../src/domain/worker-access.ts';
import { freshToken } from '../../../src/domain/worker-token.ts';
import type { Lease } from '../../../src/schema/lease.ts';
import type { HeartbeatBody } from '../../../src/schema/worker.ts';
import type { RpcAnswer } from '../../../src/schema/worker-rpc.ts';

export interface Booked {
  worker: string;
  generation: number;
  /** ms since 1970. */
  leaseEnds: number;
  /** Whether it is to live. */
  wanted: boolean;
}

export interface ScriptedControl {
  readonly url: string;
  readonly heard: Map<string, { body: HeartbeatBody; at: number; count: number }>;
  readonly book: Map<string, Booked>;
  /** Calls `worker.spawn` under a new lease. Rejects when no answer comes. */
  spawn(id: string, worker: string): Promise<{ status: number; answer: RpcAnswer }>;
  destroy(id: string): Promise<{ status: number; answer: RpcAnswer }>;
  status(id: string): Promise<unknown>;
  /** Nobody answers, and then somebody again at the same address. */
  stop(): Promise<void>;
  restart(): Promise<void>;
}

export interface ControlScript {
  address: string;
  auth: { worker_tokens: Record<string, string> };
  leaseMs: number;
}

const CALL_MS = 20_000;

export async function scriptedControl({ address, auth, leaseMs }: ControlScript): Promise<ScriptedControl> {
  const heard: ScriptedControl['heard'] = new Map();
  const book: ScriptedControl['book'] = new Map();
  let port = 0;
  let server: Server;
  const lease = (id: string, { worker, generation, leaseEnds }: Booked): Lease =>
    signLease(auth.worker_tokens[worker] ?? '', {
      ...{ resource_id: id, holder_id: worker, generation },
      expires_at: new Date(leaseEnds).toISOString(),
    });
  const renew = (id: string, worker: string) => {
    const booked = book.get(id);
    if (!booked?.wanted || booked.worker !== worker || booked.leaseEnds <= Date.now()) return undefined;
    booked.generation++;
    booked.leaseEnds = Date.now() + leaseMs;
    return { lease: lease(id, booked) };
  };
  const answer = (path: string, worker: string, body: HeartbeatBody): [number, object] => {
    const [, , , , , what, id = ''] = path.split('/');
    if (what === 'heartbeat') {
      heard.set(worker, { body, at: Date.now(), count: (heard.get(worker)?.count ?? 0) + 1 });
      return [200, { id: worker, status: body.status, drain: false }];
    }
    const renewed = what === 'leases' ? renew(id, worker) : undefined;
    return renewed ? [200, renewed] : [409, { code: 'conflict', message: 'The lease has expired.' }];
  };
  const listen = () =>
    new Promise<void>((resolve) => {
      server = createServer(async (request, response) => {
        const parts: Buffer[] = [];
        for await (const part of request) parts.push(part as Buffer);
        const presented = {
          worker_id: request.headers['x-worker-id'] as string,
          token: request.headers['x-worker-token'] as string,
        };
        const { worker_id } = identifyWorker(auth, presented, {
          aud: 'worker:control-plane',
          now: Date.now(),
        });
        const [status, body] = answer(
          request.url ?? '',
          worker_id,
          JSON.parse(Buffer.concat(parts).toString()),
        );
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      });
      server.listen(port, address, () => {
        port = (server.address() as AddressInfo).port;
        resolve();
      });
    });
  const call = async (worker: string, method: string, more: object) => {
    const url = heard.get(worker)?.body.rpc_url ?? '';
    const terms = { worker_id: worker, aud: 'worker:rpc' as const, jti: method, now: Date.now() };
    const token = freshToken(auth.worker_tokens[worker] ?? '', terms);
    const reply = await fetch(`${url}/rpc`, {
      method: 'POST',
      headers: { 'x-worker-id': worker, 'x-worker-token': token, 'content-type': 'application/json' },
      body: JSON.stringify({ id: method, method, worker_id: worker, ...more }),
      signal: AbortSignal.timeout(CALL_MS),
    });
    return { status: reply.status, answer: (await reply.json()) as RpcAnswer };
  };
  const runtime = (id: string) => ({ sandbox_id: id, provider: 'userspace' });
  await listen();
  return {
    url: `http://${address}:${port}`,
    heard,
    book,
    spawn: (id, worker) => {
      const before = book.get(id)?.generation ?? 0;
      const booked = { worker, generation: before + 1, leaseEnds: Date.now() + leaseMs, wanted: true };
      book.set(id, booked);
      const params = { ...runtime(id), memory_mb: 32, vcpus: 1, ttl: '10m' };
      return call(worker, 'worker.spawn', { lease: lease(id, booked), params });
    },
    destroy: (id) => {
      const booked = book.get(id);
      if (!booked) throw new Error(`${id} is not in the book`);
      Object.assign(booked, {
        wanted: false,
        generation: booked.generation + 1,
        leaseEnds: Date.now() + leaseMs,
      });
      return call(booked.worker, 'worker.destroy', { lease: lease(id, booked), params: runtime(id) });
    },
    status: async (id) =>
      (await call(book.get(id)?.worker ?? '', 'worker.status', { params: runtime(id) })).answer.result?.state,
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
    restart: listen,
  };
}
