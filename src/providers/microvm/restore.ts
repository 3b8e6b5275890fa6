// Restores a guest from a snapshot and gives it its own identity before any user's code runs in it. A guest that shares a part
// of its identity with a sibling is discarded.
import { open, rm } from 'node:fs/promises';
import { openSession } from '../../agent/session.ts';
import { agentSecret } from '../../domain/agent-secret.ts';
import { ServiceError } from '../../domain/errors.ts';
import { agentLifeMs } from '../../domain/ttl.ts';
import { withinDeadline } from '../deadline.ts';
import { openAgentSocket } from '../local/agent-socket.ts';
import { type Launched, launch, type Making } from './launch.ts';
import { openMonitor, reasonOf, untilEnded, untilThere } from './monitor.ts';
import type { MonitorPlan } from './monitor-kind.ts';
import { copySparse } from './overlay.ts';
import type { Snapshot } from './snapshot.ts';
import { withoutMemory } from './snapshot-state.ts';
import type { MicrovmState } from './state.ts';

/** Many times the usual duration, even on a crowded machine, and short enough to boot a guest instead. */
const RESTORE_MS = 30_000;
const ENTROPY_BYTES = 64;
/** The agent read its settings before it was saved. */
const NOTHING = Buffer.from('restored=1\0');

/** When this throws, `clear` removes the remains in the run folder. */
export async function restore(
  state: MicrovmState,
  { making, snapshot }: { making: Making; snapshot: Snapshot },
  signal: AbortSignal,
): Promise<void> {
  const expired = () => new ServiceError('timeout', 'Restoring a snapshot took too long.');
  const bounds = { ms: RESTORE_MS, expired, signal };
  let work: Promise<unknown> = Promise.resolve();
  const call = (either: AbortSignal) => {
    const going = started(state, { making, snapshot }, either);
    work = going.catch(() => undefined);
    return going;
  };
  // Wait for the work to end: the caller clears and boots at the same paths.
  await withinDeadline(state.clock, bounds, call).finally(() => work);
}

async function started(
  state: MicrovmState,
  { making, snapshot }: { making: Making; snapshot: Snapshot },
  signal: AbortSignal,
): Promise<void> {
  const { process, plan } = await launched(state, { making, snapshot }, signal);
  const alive = untilEnded(process, signal);
  try {
    await Promise.all([
      resumeGuest(state.clock, plan, alive),
      giveIdentity(state, { making, snapshot }, alive),
    ]);
    await rm(making.paths.settings, { force: true });
  } catch (error) {
    throw await reasonOf(state.clock, { process, error });
  } finally {
    process.release();
  }
}

/** Starts a monitor that reads the state from its standard input. */
async function launched(
  state: MicrovmState,
  { making, snapshot }: { making: Making; snapshot: Snapshot },
  signal: AbortSignal,
): Promise<Launched> {
  const saved = await open(snapshot.state);
  const inputs = {
    settings: NOTHING,
    memory: { kind: 'file', path: snapshot.memory, isShared: false } as const,
    overlay: (path: string) => copySparse(state.host, { from: snapshot.overlay ?? '', to: path }, signal),
    state: saved.fd,
  };
  return launch(state, making, inputs, signal).finally(() => saved.close());
}

async function resumeGuest(
  clock: MicrovmState['clock'],
  plan: MonitorPlan,
  signal: AbortSignal,
): Promise<void> {
  const qmp = await openMonitor(clock, plan, signal);
  try {
    await withoutMemory(qmp, signal);
    await qmp.execute('migrate-incoming', { uri: 'fd:0' }, { signal });
  } finally {
    qmp.close();
  }
}

async function giveIdentity(
  state: MicrovmState,
  { making, snapshot }: { making: Making; snapshot: Snapshot },
  signal: AbortSignal,
): Promise<void> {
  const { spec, paths } = making;
  const { clock, random, logger } = state;
  const stream = await untilThere(clock, signal, () => openAgentSocket(paths.sockets.agent, signal));
  const secret = Buffer.from(snapshot.record.secret, 'hex');
  const io = await openSession({ stream, secret, clock, random, logger }, signal);
  try {
    const order = {
      secret: agentSecret(state.instance.key, spec.id, spec.epoch),
      entropy: random.bytes(ENTROPY_BYTES),
      clockMs: clock.now(),
      hostname: spec.id,
    };
    const missing = await io.seed(order, signal);
    if (missing.length > 0)
      throw new ServiceError(
        'provider_error',
        'Could not give a restored virtual machine its own identity.',
        {
          cause: new Error(`not done: ${missing.join(', ')}`),
        },
      );
    // The saved guest has no deadline; its clock continues from the moment it was saved.
    const lifeMs = agentLifeMs(spec.deadline, clock.monotonic());
    if (lifeMs !== undefined) await io.setDeadline?.(lifeMs, signal);
  } finally {
    io.close();
  }
}
