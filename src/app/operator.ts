// Collects what operator tasks need from this machine.
import type { Clock, Ids, Random } from '../domain/ports.ts';
import { realClock } from '../host/clock.ts';
import type { Host } from '../host/host.ts';
import { realIds } from '../host/ids.ts';
import { realRandom } from '../host/random.ts';
import { realHost } from '../host/real-host.ts';

export interface Operator {
  clock: Clock;
  random: Random;
  ids: Ids;
  host: Host;
}

export function thisOperator(): Operator {
  const random = realRandom();
  return { clock: realClock(), random, ids: realIds(random), host: realHost() };
}
