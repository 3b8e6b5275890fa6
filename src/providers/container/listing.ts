// Looks up containers on the engine: one by name or labels, or all with our instance's label.
import type { RuntimeListing, RuntimeRef, RuntimeState } from '../provider.ts';
import type { Engine } from './engine.ts';
import { invalidEngineReply, refusedWith } from './engine-faults.ts';
import { attemptFilter, containerName, identityOf, instanceFilter, ownName } from './names.ts';
import type { ContainerState } from './state.ts';

const MAX_LIST = 64 * 1024 * 1024;

export async function inspectRuntime(
  state: ContainerState,
  ref: RuntimeRef,
  signal: AbortSignal,
): Promise<RuntimeState> {
  return stateOf(state, await nameOf(state, ref, signal), signal);
}

/**
 * The name of a sandbox's container: the recorded one, else that of the container with its labels (earlier versions used
 * other names), else the name of a new container.
 */
export async function nameOf(
  state: Pick<ContainerState, 'engine' | 'instance'>,
  ref: RuntimeRef,
  signal: AbortSignal,
): Promise<string> {
  const { engine, instance } = state;
  const known = ownName(instance.id, ref.runtime_id);
  if (known !== undefined) return known;
  const query = { all: 1, filters: attemptFilter(instance.id, ref) };
  const order = { method: 'GET', path: '/containers/json', query, what: 'look up a sandbox' } as const;
  const [found] = await engine.list(order, signal, listed);
  return (found && givenName(instance.id, found.Names)) ?? containerName(instance, ref);
}

/** The name that the container was created with; links add others, with a second slash. */
function givenName(instance: string, names: unknown): string | undefined {
  const all = Array.isArray(names) ? names : [];
  return all
    .map((name) => ownName(instance, `${name}`.replace(/^\//, '')))
    .find((name) => name !== undefined);
}

export async function stateOf(
  { engine }: Pick<ContainerState, 'engine'>,
  name: string,
  signal: AbortSignal,
): Promise<RuntimeState> {
  return (await inspectContainer(engine, name, signal))?.state ?? 'gone';
}

interface ContainerFacts {
  state: 'running' | 'stopped';
  /** The kernel killed a process for its memory; in a stopped container of gVisor, that process held the sandbox. */
  isOutOfMemory: boolean;
}

/** Undefined when the engine has no such container. */
export async function inspectContainer(
  engine: Engine,
  name: string,
  signal?: AbortSignal,
  ms?: number,
): Promise<ContainerFacts | undefined> {
  try {
    const request = { method: 'GET', path: `/containers/${name}/json`, what: 'look up a sandbox' } as const;
    const reply = (await engine.json({ ...request, ...(ms !== undefined && { ms }) }, signal)) as
      | { State?: Record<string, unknown> }
      | undefined;
    const { Status, OOMKilled } = reply?.State ?? {};
    if (typeof Status !== 'string') throw invalidEngineReply('a container has no state', undefined);
    return { state: isRunning(Status) ? 'running' : 'stopped', isOutOfMemory: OOMKilled === true };
  } catch (error) {
    if (refusedWith(error, 404)) return undefined;
    throw error;
  }
}

export async function listRuntimes(state: ContainerState, signal: AbortSignal): Promise<RuntimeListing[]> {
  const query = { all: 1, filters: instanceFilter(state.instance.id) };
  const call = { method: 'GET', path: '/containers/json', query } as const;
  const order = { ...call, what: 'list sandboxes', maxBytes: MAX_LIST };
  const found = await state.engine.list(order, signal, (container) => listing(state, listed(container)));
  await state.links.sweep(new Set(found.map(({ runtime_id }) => runtime_id)));
  return found;
}

interface ListedContainer {
  Names?: unknown;
  Labels?: unknown;
  State?: unknown;
  Created?: unknown;
}

const listed = (container: unknown): ListedContainer => container ?? {};

function listing(
  state: ContainerState,
  { Names, Labels, State, Created }: ListedContainer,
): RuntimeListing | undefined {
  const identity = identityOf(Labels);
  if (!identity) return undefined;
  return {
    runtime_id: givenName(state.instance.id, Names) ?? containerName(state.instance, identity),
    ...identity,
    state: typeof State === 'string' && isRunning(State) ? 'running' : 'stopped',
    created_at: createdAt(Created, state),
  };
}

/** Seconds since 1970, or text on some engines. A container without a creation time counts as new. */
function createdAt(created: unknown, { clock }: ContainerState): string {
  const ms = typeof created === 'number' ? created * 1000 : Date.parse(`${created}`);
  return new Date(Number.isFinite(ms) ? ms : clock.now()).toISOString();
}

/** A paused container exists but does not respond. */
function isRunning(status: string): boolean {
  return status === 'running' || status === 'paused';
}
