// What makes a copy of a guest one of its own, before anything of a user runs in it: a secret, entropy, the time, a name.
import type { Requests } from './requests.ts';
import { WireWriter } from './wire.ts';

export interface SeedOrder {
  /** 16 bytes, none of them zero: opens every later session. */
  secret: Buffer;
  /** At most 512 bytes, credited in full. */
  entropy: Buffer;
  /** ms since 1970. */
  clockMs: number;
  hostname: string;
}

/** Bits of the answer (agent/PROTOCOL.md), lowest first. */
const PARTS = ['secret', 'entropy', 'clock', 'name', 'generator', 'identity'] as const;
export type SeedPart = (typeof PARTS)[number];

/** The parts that could not be done. Throws `unavailable` when the agent does not answer within 5 s. */
export async function seedGuest(
  requests: Requests,
  order: SeedOrder,
  signal?: AbortSignal,
): Promise<SeedPart[]> {
  const { secret, entropy, clockMs, hostname } = order;
  const args = () => new WireWriter().str(secret).str(entropy).u64(BigInt(clockMs)).str(hostname);
  const done = await requests.call('seed', (reader) => reader.u32(), { args, deadlineMs: 5000, signal });
  return PARTS.filter((_, bit) => (done & (1 << bit)) === 0);
}
