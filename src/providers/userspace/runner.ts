// Chooses the program that creates the namespaces. A version says little about what a host permits, so each candidate starts
// one small sandbox; the first that works is kept until the server ends.
import { ServiceError } from '../../domain/errors.ts';
import { once } from '../../domain/once.ts';
import { withTimeout } from '../../domain/timeout.ts';
import { isAtLimit } from '../../host/child-processes.ts';
import {
  isTrial,
  runtimeName,
  runtimeNames,
  TRIAL_PREFIX,
  UnusableFolder,
} from '../local/instance-folders.ts';
import type { RuntimeSpec } from '../provider.ts';
import { createRuntime } from './create.ts';
import { clear } from './destroy.ts';
import { chooseImage } from './image.ts';
import type { Runner } from './order.ts';
import type { UserspaceState } from './state.ts';
import { findUserNetwork } from './user-network.ts';

export interface RunnerChoice {
  /** The working runner. Throws `provider_error` naming what is wrong with each. Shared by concurrent callers. */
  choose(): Promise<Runner>;
  /** The same for one sandbox: an image of the store gets a runner that can let it change the image, where one works. */
  chooseFor(spec: RuntimeSpec): Promise<Runner>;
  /** Why no transparent gate can be made, as a sentence; undefined: it can. Tried once. */
  gateRefusal(): Promise<string | undefined>;
  /** Clears trials of servers that ended during one. Done once, before this server's own trial. */
  sweep(): Promise<void>;
  /** Ends a running trial and waits until nothing of it is left. */
  close(): Promise<void>;
}

const TRIAL_MS = 10_000;
const TRIAL_MEMORY_MB = 32;

export function runnerChoice(state: UserspaceState): RunnerChoice {
  const end = new AbortController();
  const sweep = once(() => clearTrials(state));
  let trying: Promise<unknown> = Promise.resolve();
  const tried = (found: Promise<Runner>) => {
    trying = Promise.allSettled([trying, found]);
    return found;
  };
  const choose = once(async () => {
    await sweep();
    return tried(firstThatWorks(state, candidates(state), end.signal));
  });
  const chooseWritable = once(async () => {
    const other = await choose();
    return tried(firstThatWorks(state, ['unshare'], end.signal).catch(() => other));
  });
  /** bubblewrap leaves process 1 no right over the network: only root can make the gate before it starts. */
  const chooseGated = once(async () => {
    const runner = await choose();
    const names = [...new Set([runner.name, ...candidates(state)])].filter(
      (name) => name !== 'proot' && (name !== 'bwrap' || state.host.uid === 0),
    );
    return tried(firstThatWorks(state, names, end.signal, { gate: true }));
  });
  const gateRefusal = async () => {
    try {
      await chooseGated();
      return undefined;
    } catch (error) {
      if (!(error instanceof NoRunner)) throw error;
      return `This machine cannot make a transparent gate: ${error.reasons}.`;
    }
  };
  const chooseFor = async (spec: RuntimeSpec) => {
    if (spec.gate) {
      const runner = await chooseGated();
      if (runner.name !== 'bwrap') return runner;
    }
    const runner = await choose();
    if (state.config.runner !== 'auto' || runner.name !== 'bwrap' || spec.role === 'pool') return runner;
    const { stored } = await chooseImage(state, spec);
    return stored ? chooseWritable() : runner;
  };
  const close = async () => {
    end.abort(new ServiceError('unavailable', 'The server is stopping.'));
    await trying;
  };
  return { choose, chooseFor, gateRefusal, sweep, close };
}

async function firstThatWorks(
  state: UserspaceState,
  names: readonly Runner['name'][],
  end: AbortSignal,
  more: Pick<RuntimeSpec, 'gate'> = {},
): Promise<Runner> {
  const reasons: string[] = [];
  if (state.config.network === 'user') await findUserNetwork(state);
  for (const name of names) {
    end.throwIfAborted();
    const path = await find(state, name);
    const reason = path ? await tryRunner(state, { name, path }, end, more) : 'is not installed';
    if (path && reason === undefined) return { name, path };
    reasons.push(`${name} ${reason}`);
  }
  throw new NoRunner(reasons.join('; '));
}

class NoRunner extends ServiceError {
  readonly reasons: string;

  constructor(reasons: string) {
    super('provider_error', `No runner works: ${reasons}.`, {
      remedy: 'Allow unprivileged user namespaces, and install util-linux or bubblewrap 0.8.',
    });
    this.reasons = reasons === '' ? 'that needs unshare, or bubblewrap under root' : reasons;
  }
}

function candidates({ config }: UserspaceState): Runner['name'][] {
  // proot is not a boundary: it is used only when the configuration names it.
  return config.runner === 'auto' ? ['bwrap', 'unshare'] : [config.runner];
}

async function find(state: UserspaceState, name: Runner['name']): Promise<string | undefined> {
  const named = state.config.runner === 'auto' ? '' : state.config.runner_path;
  return state.host.which(named || name);
}

/** Undefined when it works, otherwise the failure as the end of a sentence. Throws errors that say nothing about the runner. */
async function tryRunner(
  state: UserspaceState,
  runner: Runner,
  end: AbortSignal,
  more: Pick<RuntimeSpec, 'gate'>,
): Promise<string | undefined> {
  const spec = { ...trialSpec(state), ...more };
  const name = runtimeName(spec);
  try {
    await withTimeout({ clock: state.clock, ms: TRIAL_MS, error: trialSlow, signal: end }, (signal) =>
      createRuntime(state, { runner, spec }, signal),
    );
    await clear(state, name);
    return undefined;
  } catch (error) {
    end.throwIfAborted();
    if (isAtLimit(error) || error instanceof UnusableFolder) throw error;
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    state.logger.warn({ err: error, runner: runner.name }, 'Runner failed its trial; trying the next one.');
    return `failed (${cause instanceof Error ? cause.message : 'unknown'})`;
  }
}

/** A host that can no longer start sandboxes must still be able to remove them. */
async function clearTrials(state: UserspaceState): Promise<void> {
  const trials = (await runtimeNames(state.folders)).filter(isTrial);
  if (trials.length > 0) await state.prepare().catch(() => undefined);
  for (const name of trials) await clear(state, name);
}

const trialSlow = () => new Error('the trial did not end in time');

/** Named so that no sandbox can have it; see isTrial. */
function trialSpec(state: UserspaceState): RuntimeSpec {
  return {
    id: `${TRIAL_PREFIX}${state.random.bytes(6).toString('hex')}`,
    epoch: 0,
    image: undefined,
    memory_mb: TRIAL_MEMORY_MB,
    vcpus: 1,
    network: 'default',
    expires_at: new Date(state.clock.now() + TRIAL_MS).toISOString(),
  };
}
