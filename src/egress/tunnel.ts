// Joins a program with its target as bytes, once both sides have agreed on it.
import type { Duplex } from 'node:stream';
import type { Clock } from '../domain/ports.ts';
import type { AppliedEgress } from './egress.ts';
import { farewell } from './farewell.ts';
import { ACCESS_DENIED } from './hello.ts';
import { HelloGuard } from './hello-guard.ts';
import type { Passage } from './passage.ts';
import { splice } from './splice.ts';
import type { Upstream } from './upstream.ts';

export interface Opened {
  readonly passage: Passage;
  readonly upstream: Upstream;
}

/** A server name of TLS that is not allowed is answered by an alert, and nothing of its hello leaves. */
export function tunnel(
  client: Duplex,
  { passage, upstream }: Opened,
  gate: { readonly policy: AppliedEgress },
  clock: Clock,
): void {
  const guard: HelloGuard = new HelloGuard({
    clock,
    allow: (name) => passage.allowServerName(name, gate.policy),
    refused: (refusal) => {
      joined.release();
      farewell(client, clock, ACCESS_DENIED);
      passage.drop(refusal);
    },
  });
  const joined = splice(client, upstream, guard);
}
