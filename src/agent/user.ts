// One tenant of a pool: everything is done inside by a child that has the tenant's uid (agent/PROTOCOL.md, "Tenants").
// A view on a shared session: its close ends what was begun through it and nothing else.
import { ERRNO } from './errno.ts';
import { sandboxLost } from './fault.ts';
import { sandboxInside } from './inside.ts';
import type { PoolUser, UserIo } from './io.ts';
import type { StreamPlan } from './plan.ts';
import type { AgentStream } from './stream.ts';
import { type Begin, Talk } from './talk.ts';
import { WireWriter } from './wire.ts';

const LEAVE_MS = 10 * 60_000;
const LEAVE_WORDS = { [ERRNO.EBUSY]: 'What runs there does not end.' };

/** `closed`: of the session that `talk` belongs to. */
export function userIo(talk: Talk, user: PoolUser, closed: Promise<void>): UserIo {
  const view = viewOf(talk.begin, user.uid);
  const own = new Talk({ clock: talk.clock, begin: view.begin, fault: talk.fault, heard: talk.heard });
  const inside = sandboxInside(own);
  const args = () => new WireWriter().u32(user.uid).str(user.home);
  return {
    ...inside,
    exec: (spec, signal) => inside.exec({ ...spec, ...atHome(user, spec) }, signal),
    enter: (signal) => talk.call('enter', () => undefined, { args, signal }),
    leave: (signal) =>
      talk.call('leave', () => undefined, { args, deadlineMs: LEAVE_MS, words: LEAVE_WORDS, signal }),
    close: view.close,
    closed: Promise.race([closed, view.closed]),
  };
}

function atHome({ home }: PoolUser, spec: { workdir?: string; env: Record<string, string> }) {
  return { workdir: spec.workdir ?? home, env: { HOME: home, TMPDIR: home, ...spec.env } };
}

function viewOf(begin: Begin, uid: number): { begin: Begin; close(): void; closed: Promise<void> } {
  const open = new Set<{ cancel(reason: unknown): void }>();
  let end!: () => void;
  const closed = new Promise<void>((resolve) => {
    end = resolve;
  });
  let isOver = false;
  return {
    closed,
    begin<T>(plan: StreamPlan<T>, signal?: AbortSignal): AgentStream<T> {
      const stream = begin({ ...plan, uid }, isOver ? AbortSignal.abort(sandboxLost(undefined)) : signal);
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
