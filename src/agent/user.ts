// One tenant of a pool: a child with the tenant's uid does everything (agent/PROTOCOL.md, "Tenants"). It is a view on a shared
// session: closing it ends only the streams that it opened.
import { ERRNO } from './errno.ts';
import { sandboxLost } from './fault.ts';
import type { PoolUser, UserIo } from './io.ts';
import type { StreamRequest } from './request.ts';
import { Requests, type SendRequest } from './requests.ts';
import { sandboxIo } from './sandbox-io.ts';
import type { AgentStream } from './stream.ts';
import { WireWriter } from './wire.ts';

const LEAVE_MS = 10 * 60_000;
const LEAVE_WORDS = { [ERRNO.EBUSY]: 'What runs there does not end.' };

/** `session`: the one that `requests` belongs to. */
export function userIo(
  requests: Requests,
  user: PoolUser,
  { closed, capabilities }: { closed: Promise<void>; capabilities: number },
): UserIo {
  const view = viewOf(requests.send, user.uid);
  const own = new Requests({
    clock: requests.clock,
    send: view.send,
    fault: requests.fault,
    bytesReceived: requests.bytesReceived,
  });
  const inside = sandboxIo(own, capabilities);
  const args = () => new WireWriter().u32(user.uid).str(user.home);
  return {
    ...inside,
    exec: (spec, signal) => inside.exec({ ...spec, ...atHome(user, spec) }, signal),
    enter: (signal) => requests.call('enter', () => undefined, { args, signal }),
    leave: (signal) =>
      requests.call('leave', () => undefined, { args, deadlineMs: LEAVE_MS, words: LEAVE_WORDS, signal }),
    close: view.close,
    closed: Promise.race([closed, view.closed]),
  };
}

function atHome({ home }: PoolUser, spec: { workdir?: string; env: Record<string, string> }) {
  return { workdir: spec.workdir ?? home, env: { HOME: home, TMPDIR: home, ...spec.env } };
}

function viewOf(send: SendRequest, uid: number): { send: SendRequest; close(): void; closed: Promise<void> } {
  const open = new Set<{ cancel(reason: unknown): void }>();
  let end!: () => void;
  const closed = new Promise<void>((resolve) => {
    end = resolve;
  });
  let isOver = false;
  return {
    closed,
    send<T>(request: StreamRequest<T>, signal?: AbortSignal): AgentStream<T> {
      const stream = send({ ...request, uid }, isOver ? AbortSignal.abort(sandboxLost(undefined)) : signal);
      open.add(stream);
      const drop = () => open.delete(stream);
      stream.result.then(drop, drop);
      return stream;
    },
    close() {
      isOver = true;
      for (const stream of open) stream.cancel(sandboxLost(undefined));
      end();
    },
  };
}
