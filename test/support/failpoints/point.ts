// Named places at which a server of the tests fails once, as `SVC_TEST_FAILPOINT=<point>:<action>` says. They lie on the
// seams, around the store and the providers: the code between them is what ships, to the byte.
import { setTimeout as pause } from 'node:timers/promises';

/**
 * S0 before the row of a spawn is committed · S1 after it, before the provider · S2 the provider has answered · S3 the
 * result is committed · S4 the reply is out · S5 a ready one has changed hands, in place of S1 to S3 · D0 before the
 * intent to destroy is committed · D1 after it · D2 the provider has confirmed · D3 the end is committed · D4 before the
 * reply · R1 runtimes are listed, nothing done yet.
 */
export const POINTS = ['S0', 'S1', 'S2', 'S3', 'S4', 'S5', 'D0', 'D1', 'D2', 'D3', 'D4', 'R1'] as const;
export type Point = (typeof POINTS)[number];
/** `freeze`: until the test says SIGCONT. */
export type Action = 'kill' | 'freeze' | 'throw' | 'delay';

const DELAY_MS = 2000;
let [armed, action] = (process.env.SVC_TEST_FAILPOINT ?? '').split(':') as [Point | undefined, Action];

/** Fails here when this point is armed, the first time only. After `kill` nothing follows. */
export async function at(point: Point): Promise<void> {
  if (point !== armed) return;
  armed = undefined;
  if (action === 'throw') throw new Error(`failpoint ${point}`);
  if (action === 'delay') await pause(DELAY_MS);
  else process.kill(process.pid, action === 'kill' ? 'SIGKILL' : 'SIGSTOP');
}
