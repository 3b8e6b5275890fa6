// What a server keeps of each gate that it holds.
import type { Sessions } from '../../agent/sessions.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock, Logger, Timer } from '../../domain/ports.ts';
import type { Egress } from '../../egress/egress.ts';
import type { EgressOrder } from '../../schema/worker-egress.ts';
import type { SandboxStore } from '../../store/store.ts';
import type { Publisher } from '../records/publish.ts';
import type { GatedSandbox } from './applied-egress.ts';
import type { Credentials } from './credentials.ts';
import type { EgressOrdersDeps } from './egress-orders.ts';
import type { HeldGate } from './held-gate.ts';
import type { OpenEgressLink } from './remote-gate.ts';
import type { Roles } from './roles.ts';
import type { Runtime } from './runtimes.ts';

export interface EgressGatesDeps extends EgressOrdersDeps {
  /** Absent where nothing can be dialed. */
  egress: Egress | undefined;
  sandboxes: Pick<SandboxStore, 'get' | 'inStates'>;
  credentials: Pick<Credentials, 'of' | 'onChange'>;
  /** Masks a text in all output until the returned function is called. */
  conceal(secret: string): () => void;
  sessions: Sessions<Runtime>;
  /** Reaches the gate of a sandbox on its worker. */
  openLink: OpenEgressLink;
  roles: Pick<Roles, 'holds' | 'watch'>;
  publisher: Publisher;
  clock: Clock;
  logger: Logger;
}

export interface Entry {
  row: GatedSandbox;
  /** How often the row was replaced: an older row that was read meanwhile must not win. */
  changes: number;
  readonly held: HeldGate;
  /** Settles when the newest policy is applied. */
  applied: Promise<void>;
  /** Settles when it is served first. */
  opened?: Promise<void>;
  /** Timers of the next session, and of the next try with a policy. */
  retries: { serve?: Timer; apply?: Timer };
  /** The order that its worker has, as text. */
  sent?: string;
  /** Releases its session. */
  release?: () => void;
  /** Release the masks of its secrets. */
  concealed: readonly (() => void)[];
  isClosed: boolean;
}

export const untrusted = () =>
  new ServiceError('provider_error', 'Programs of the sandbox cannot be made to trust this server.', {
    remedy: 'Spawn it without egress credentials. `svc sandbox logs` shows the reason.',
  });

/** Values of credentials are masked while they may be used. */
export function conceal(
  entry: Pick<Entry, 'concealed'>,
  { credentials }: EgressOrder,
  deps: Pick<EgressGatesDeps, 'conceal'>,
): void {
  const before = entry.concealed;
  entry.concealed = credentials
    .flatMap(({ value, text }) => [value, text])
    .map((secret) => deps.conceal(secret));
  for (const release of before) release();
}
