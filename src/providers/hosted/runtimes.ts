// Sandboxes at the hosted backend: created with our labels in their metadata, found by them, destroyed. The backend ends
// each sandbox at a deadline of its own; listing extends our sandboxes that are close to it.
import type { Sandbox } from 'e2b';
import { ServiceError } from '../../domain/errors.ts';
import { asNotStarted } from '../../domain/not-started.ts';
import type { Clock, Logger, Random } from '../../domain/ports.ts';
import type { HostedConfig } from '../../schema/config-backends.ts';
import type { OpenSessions } from '../backends/backend-session.ts';
import { identityIn, labelsFor, ourLabels, runtimeIdOf } from '../backends/labels.ts';
import { hadNoEffect, invalidReply } from '../outgoing/faults.ts';
import type { Created, RuntimeListing, RuntimeRef, RuntimeSpec, RuntimeState } from '../provider.ts';
import { DetachedExecs } from './detached.ts';
import { HOSTED_BACKEND } from './errors.ts';
import type { Library } from './library.ts';

export interface HostedDeps {
  clock: Clock;
  random: Random;
  logger: Logger;
  config: HostedConfig;
  /** From the store. An account may serve several servers; labels identify the server of a sandbox. */
  instance: { id: string };
}

export interface HostedState extends HostedDeps {
  library: Library;
  sessions: OpenSessions;
  /** Detached commands by runtime: they outlive sessions. */
  detached: Map<string, DetachedExecs>;
}

/** The backend's deadline for a sandbox. Accounts limit it; this server ends sandboxes earlier. */
const LIFE_MS = 60 * 60_000;
const NEAR_MS = 20 * 60_000;
const SPARE_MS = 5 * 60_000;
const MOST_PAGES = 1000;
const ID = /^[A-Za-z0-9_-]{1,128}$/;

export async function createRuntime(
  state: HostedState,
  spec: RuntimeSpec,
  signal: AbortSignal,
): Promise<Created> {
  const order: CreateAttempt = { spec, signal, stage: 'not requested' };
  try {
    return await createSandbox(state, order);
  } catch (error) {
    const isNothing = order.stage === 'not requested' || (order.stage === 'requested' && hadNoEffect(error));
    throw isNothing ? asNotStarted(error, signal) : error;
  }
}

interface CreateAttempt {
  spec: RuntimeSpec;
  signal: AbortSignal;
  /** The last step that was reached. */
  stage: 'not requested' | 'requested' | 'created';
}

async function createSandbox(
  { library, clock, config, instance }: HostedState,
  order: CreateAttempt,
): Promise<Created> {
  const { spec, signal } = order;
  if (spec.role !== undefined) throw new ServiceError('not_implemented', 'Provider hosted hosts no pools.');
  const template = spec.image ?? config.template;
  const timeoutMs = Math.min(Math.max(Date.parse(spec.expires_at) - clock.now(), 0) + SPARE_MS, LIFE_MS);
  const metadata = labelsFor(instance, spec);
  return library.run(async ({ Sandbox }, options) => {
    if (await firstOf(Sandbox.list({ ...options, query: { metadata } }), signal))
      throw new ServiceError('conflict', 'A sandbox for this attempt already exists.');
    order.stage = 'requested';
    const { sandboxId } = await Sandbox.create(template, { ...options, timeoutMs, metadata, signal });
    order.stage = 'created';
    if (!ID.test(sandboxId)) throw invalidReply(HOSTED_BACKEND, 'sent a sandbox without a valid id');
    const { cpuCount, memoryMB } = await Sandbox.getInfo(sandboxId, { ...options, signal });
    const [memory_mb, vcpus] = [positiveOr(memoryMB, spec.memory_mb), positiveOr(cpuCount, spec.vcpus)];
    return {
      runtime_id: sandboxId,
      image: template,
      memory_mb,
      vcpus,
      warnings: differences(spec, { memory_mb, vcpus }),
    };
  }, signal);
}

const positiveOr = (value: unknown, requested: number) =>
  Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : requested;

function differences(spec: RuntimeSpec, given: { memory_mb: number; vcpus: number }): string[] {
  return (['memory_mb', 'vcpus'] as const)
    .filter((key) => given[key] !== spec[key])
    .map((key) => `${key}: ${spec[key]} were requested; the template has ${given[key]}.`);
}

/** The backend's id of the sandbox; undefined when the backend does not have it. */
export function findRuntime(
  state: HostedState,
  ref: RuntimeRef,
  signal: AbortSignal,
): Promise<string | undefined> {
  return runtimeIdOf(ref, () => listRuntimes(state, signal));
}

export async function inspectRuntime(
  state: HostedState,
  ref: RuntimeRef,
  signal: AbortSignal,
): Promise<RuntimeState> {
  const runtime_id = await findRuntime(state, ref, signal);
  return runtime_id === undefined ? 'gone' : stateOf(state, runtime_id, signal);
}

export async function stateOf(
  state: HostedState,
  runtime_id: string,
  signal?: AbortSignal,
): Promise<RuntimeState> {
  const found = await state.library.run(async ({ Sandbox, NotFoundError }, options) => {
    try {
      return (await Sandbox.getInfo(runtime_id, { ...options, ...(signal && { signal }) })).state;
    } catch (error) {
      if (error instanceof NotFoundError) return 'gone';
      throw error;
    }
  }, signal);
  if (found === 'gone') runtimeEnded(state, runtime_id);
  return found === 'running' || found === 'gone' ? found : 'stopped';
}

/** A missing sandbox is success. */
export async function destroyRuntime(
  state: HostedState,
  ref: RuntimeRef,
  signal: AbortSignal,
): Promise<void> {
  const runtime_id = await findRuntime(state, ref, signal);
  if (runtime_id === undefined) return;
  await state.library.run(({ Sandbox }, options) => Sandbox.kill(runtime_id, { ...options, signal }), signal);
  runtimeEnded(state, runtime_id);
}

/** Closes sessions and stops following commands of an ended sandbox. */
export function runtimeEnded({ sessions, detached }: HostedState, runtime_id: string): void {
  sessions.end(runtime_id);
  detached.get(runtime_id)?.leave(new ServiceError('unavailable', 'The sandbox has ended.'));
  detached.delete(runtime_id);
}

/** The detached commands of a sandbox, shared by all its sessions. */
export function detachedOf(state: HostedState, runtime_id: string, sandbox: Sandbox): DetachedExecs {
  const known = state.detached.get(runtime_id) ?? new DetachedExecs({ ...state, sandbox });
  state.detached.set(runtime_id, known);
  return known;
}

export async function listRuntimes(state: HostedState, signal: AbortSignal): Promise<RuntimeListing[]> {
  const { library, instance, clock } = state;
  return library.run(async ({ Sandbox }, options) => {
    const pages = Sandbox.list({ ...options, query: { metadata: ourLabels(instance) } });
    const all: RuntimeListing[] = [];
    for (let page = 0; pages.hasNext; page++) {
      if (page === MOST_PAGES) throw invalidReply(HOSTED_BACKEND, 'sent an endless list of sandboxes');
      for (const { sandboxId, metadata, state: reported, startedAt, endAt } of await pages.nextItems({
        signal,
      })) {
        const identity = identityIn(instance, metadata);
        if (!identity || !ID.test(sandboxId)) continue;
        const left = endAt.getTime() - clock.now();
        if (reported === 'running' && left < NEAR_MS)
          await Sandbox.setTimeout(sandboxId, LIFE_MS, { ...options, signal }).catch(() => undefined);
        all.push({
          runtime_id: sandboxId,
          ...identity,
          state: reported === 'running' ? 'running' : 'stopped',
          created_at: new Date(Number.isFinite(startedAt.getTime()) ? startedAt : clock.now()).toISOString(),
        });
      }
    }
    return all;
  }, signal);
}

interface Pages {
  hasNext: boolean;
  nextItems(options: { signal: AbortSignal }): Promise<unknown[]>;
}

async function firstOf(pages: Pages, signal: AbortSignal): Promise<boolean> {
  return pages.hasNext && (await pages.nextItems({ signal })).length > 0;
}
