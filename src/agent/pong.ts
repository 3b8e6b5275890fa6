// What a ping is answered with: how long the agent has run and how many execs run. Nobody needs it, and all of it is
// read, so that a wrong answer is a fault.
import type { WireReader } from './wire.ts';

export function readPong(reader: WireReader): void {
  reader.u64();
  reader.u32();
}
