// Points at which a server of the tests fails once: right before or right after a step that changes state. They lie on the
// seams, around the store and the providers: the code between them is what ships, to the byte. A point is armed from the
// start by `SVC_TEST_FAILPOINT=<point>:<action>`, or later by a message of the process that started the server.
import { writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

/** Members of the store that change it; `transition` is a step for each state that a row gets. */
export const STORE_STEPS = {
  sandboxes: ['reserve', 'extend', 'purgeEnded'],
  templates: ['create', 'replace', 'delete'],
  quotas: ['put', 'delete'],
  warm: ['reserve', 'ready', 'remove'],
  pool: ['running', 'retire', 'remove'],
  workers: ['drain', 'heard'],
  leases: ['renew'],
  events: ['append', 'prune'],
  audit: ['append', 'purge'],
  idempotency: ['prune'],
} as const;

/** `sandboxes.take` is the reservation that takes a ready one; `reply` the answer to a client. */
export const STEPS = [
  ...['sandboxes.reserve', 'sandboxes.take', 'sandboxes.running', 'sandboxes.destroying'],
  ...['sandboxes.destroyed', 'sandboxes.error', 'sandboxes.unhealthy', 'sandboxes.extend'],
  ...['provider.create', 'provider.destroy', 'provider.list', 'reply.spawn', 'reply.destroy'],
  ...['templates.create', 'templates.replace', 'templates.delete', 'quotas.put', 'quotas.delete'],
  ...['warm.reserve', 'warm.ready', 'warm.remove', 'pool.running', 'pool.retire', 'pool.remove'],
  ...['workers.drain', 'workers.heard', 'leases.renew', 'events.append', 'audit.append'],
  ...['sandboxes.purgeEnded', 'idempotency.prune', 'events.prune', 'audit.purge'],
] as const;
export type Step = (typeof STEPS)[number];
export type Place = `${'before' | 'after'} ${Step}`;

/** Those of a spawn, a destroy and a comparison by their short names. S5 stands in place of S1 to S3. */
export const POINTS = {
  S0: 'before sandboxes.reserve',
  S1: 'after sandboxes.reserve',
  S2: 'after provider.create',
  S3: 'after sandboxes.running',
  S4: 'after reply.spawn',
  S5: 'after sandboxes.take',
  D0: 'before sandboxes.destroying',
  D1: 'after sandboxes.destroying',
  D2: 'after provider.destroy',
  D3: 'after sandboxes.destroyed',
  D4: 'before reply.destroy',
  R1: 'after provider.list',
} as const satisfies Record<string, Place>;
export type Point = keyof typeof POINTS;

/** `freeze`: until the test says SIGCONT. */
export const ACTIONS = ['kill', 'freeze', 'throw', 'delay'] as const;
export type Action = (typeof ACTIONS)[number];

export interface Armed {
  place: Place;
  action: Action;
  /** How often it is passed unharmed before. */
  skip: number;
  /** How long a delay lasts. */
  ms?: number;
}

/** The log line, on a line of its own, before a point fires. */
export const FIRED = 'a failpoint fires:';

const [place, action] = (process.env.SVC_TEST_FAILPOINT ?? '').split(':');
/** Longer than the server waits for an answer, shorter than any deadline. */
const DELAY_MS = 2000;
let armed: Armed | undefined = place ? ({ place, action, skip: 0 } as Armed) : undefined;

export function armByMessage(): void {
  process.on('message', (message: { arm?: Armed | null }) => {
    if (message.arm !== undefined) armed = message.arm ?? undefined;
  });
  // Otherwise the listener would keep a stopped server from ending.
  process.channel?.unref();
}

/** Fires once when this point is armed. After `kill` nothing follows. */
export async function at(here: Place): Promise<void> {
  if (armed?.place !== here || armed.skip-- > 0) return;
  const { action, ms = DELAY_MS } = armed;
  armed = undefined;
  writeSync(2, `\n${FIRED} ${here}\n`);
  if (action === 'throw') throw new Error(`failpoint ${here}`);
  if (action === 'delay') await pause(ms);
  else process.kill(process.pid, action === 'kill' ? 'SIGKILL' : 'SIGSTOP');
}

/** Runs `work` between its two points. */
export async function around<T>(step: Step, work: () => Promise<T>): Promise<T> {
  await at(`before ${step}`);
  const done = await work();
  await at(`after ${step}`);
  return done;
}
