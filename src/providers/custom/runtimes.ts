// Sandboxes at the custom backend: created with our labels in their metadata, found by them, and destroyed. A backend
// without an inventory cannot find a sandbox whose create reply was lost; such a sandbox counts as `gone`.
import { ServiceError } from '../../domain/errors.ts';
import { asNotStarted } from '../../domain/not-started.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import type { CustomConfig } from '../../schema/config-backends.ts';
import type { OpenSessions } from '../backends/backend-session.ts';
import { identityIn, labelsFor, runtimeIdOf } from '../backends/labels.ts';
import { hadNoEffect, invalidReply } from '../outgoing/faults.ts';
import type { Created, RuntimeListing, RuntimeRef, RuntimeSpec, RuntimeState } from '../provider.ts';
import { type Backend, CUSTOM_BACKEND, objectIn } from './backend.ts';

export interface CustomDeps {
  clock: Clock;
  logger: Logger;
  config: CustomConfig;
  /** From the store. A backend may serve several servers; labels identify the server of a sandbox. */
  instance: { id: string };
}

export interface CustomState extends CustomDeps {
  backend: Backend;
  sessions: OpenSessions;
}

/** Characters that a path can contain unencoded, except for `.` and `..`. */
const BACKEND_ID = /^(?!\.{1,2}$)[A-Za-z0-9._~:-]{1,256}$/;

export async function createRuntime(
  state: CustomState,
  spec: RuntimeSpec,
  signal: AbortSignal,
): Promise<Created> {
  const { image, memory_mb, vcpus } = spec;
  if (spec.role !== undefined) throw new ServiceError('not_implemented', 'Provider custom hosts no pools.');
  const request = state.backend.request({
    method: 'POST',
    path: '/spawn',
    json: {
      ...(image !== undefined && { image }),
      memory_mb,
      vcpus,
      metadata: labelsFor(state.instance, spec),
    },
    signal,
    means: {
      404: ['not_found', 'The custom backend does not have this image.'],
      409: ['conflict', 'A sandbox for this attempt already exists.'],
    },
  });
  const reply = await request.catch((error: unknown) => {
    throw hadNoEffect(error) ? asNotStarted(error, signal) : error;
  });
  const answer = objectIn(await reply.json());
  const given = inForce(answer.image, image ?? 'default');
  const { warnings, ...sizes } = sizesInForce(answer, spec);
  return {
    runtime_id: backendId(answer.id),
    image: given,
    ...sizes,
    warnings: [...imageWarning(image, given), ...warnings],
  };
}

const imageWarning = (requested: string | undefined, given: string): string[] =>
  requested === undefined || requested === given
    ? []
    : [`image: ${requested} was requested; the backend gave ${given}.`];

function backendId(id: unknown): string {
  if (typeof id === 'string' && BACKEND_ID.test(id)) return id;
  throw invalidReply(CUSTOM_BACKEND, 'sent a sandbox without a valid id');
}

function sizesInForce(answer: Record<string, unknown>, spec: RuntimeSpec) {
  const sizes = {
    memory_mb: inForce(answer.memory_mb, spec.memory_mb),
    vcpus: inForce(answer.vcpus, spec.vcpus),
  };
  const warnings = (['memory_mb', 'vcpus'] as const)
    .filter((key) => sizes[key] !== spec[key])
    .map((key) => `${key}: ${spec[key]} were requested; the backend gave ${sizes[key]}.`);
  return { ...sizes, warnings };
}

/** The value that the backend reports, or the requested one where it reports none or an invalid one. */
function inForce<T extends string | number>(reported: unknown, requested: T): T {
  const isValid =
    typeof reported === 'string'
      ? /^[\x21-\x7e]{1,512}$/.test(reported)
      : Number.isSafeInteger(reported) && (reported as number) > 0;
  return typeof reported === typeof requested && isValid ? (reported as T) : requested;
}

const MAX_LIST_BYTES = 64 * 1024 * 1024;
/** Far above one sandbox with all its metadata. */
const LISTED = { most: 100_000, bytes: 64 * 1024, depth: 8, tokens: 2000 };

/** The backend's id of the sandbox; undefined when the backend does not have it. */
export function findRuntime(
  state: CustomState,
  ref: RuntimeRef,
  signal: AbortSignal,
): Promise<string | undefined> {
  return runtimeIdOf(ref, () => inventory(state, signal));
}

export async function inspectRuntime(
  state: CustomState,
  ref: RuntimeRef,
  signal: AbortSignal,
): Promise<RuntimeState> {
  const runtime_id = await findRuntime(state, ref, signal);
  return runtime_id === undefined ? 'gone' : stateOf(state, runtime_id, signal);
}

export async function stateOf(
  { backend, sessions }: CustomState,
  runtime_id: string,
  signal: AbortSignal,
): Promise<RuntimeState> {
  try {
    const path = `/status/${encodeURIComponent(runtime_id)}`;
    const reply = await backend.request({ method: 'GET', path, signal });
    const { id, state } = objectIn(await reply.json());
    if (id !== undefined && id !== runtime_id)
      throw invalidReply(CUSTOM_BACKEND, 'described another sandbox');
    return knownState(state);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'not_found') throw error;
    sessions.end(runtime_id);
    return 'gone';
  }
}

/** Our sandboxes, stopped ones included; undefined when the backend has no inventory. */
export async function inventory(
  state: CustomState,
  signal: AbortSignal,
): Promise<RuntimeListing[] | undefined> {
  try {
    const reply = await state.backend.request({
      method: 'GET',
      path: '/sandboxes',
      signal,
      maxBytes: MAX_LIST_BYTES,
      means: { 405: NO_INVENTORY, 501: NO_INVENTORY },
    });
    return await reply.list(LISTED, (each) => listed(state, each));
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'not_found') return undefined;
    throw error;
  }
}

const NO_INVENTORY = ['not_found', 'The custom backend has no inventory.'] as const;

/** Undefined for sandboxes without our labels, whose other fields are not read. */
function listed({ instance, clock }: CustomState, each: unknown): RuntimeListing | undefined {
  const { id, state, created_at, metadata } = objectIn(each);
  const identity = identityIn(instance, metadata);
  if (!identity) return undefined;
  const made = typeof created_at === 'string' ? Date.parse(created_at) : Number.NaN;
  return {
    runtime_id: backendId(id),
    ...identity,
    state: knownState(state),
    // A sandbox without a creation time counts as new.
    created_at: new Date(Number.isFinite(made) ? made : clock.now()).toISOString(),
  };
}

function knownState(state: unknown): 'running' | 'stopped' {
  if (state === 'running' || state === 'stopped') return state;
  throw invalidReply(CUSTOM_BACKEND, 'sent a sandbox state other than running or stopped');
}

export async function destroyRuntime(
  state: CustomState,
  ref: RuntimeRef,
  signal: AbortSignal,
): Promise<void> {
  const runtime_id = await findRuntime(state, ref, signal);
  if (runtime_id === undefined) return;
  try {
    const path = `/sandboxes/${encodeURIComponent(runtime_id)}`;
    const reply = await state.backend.request({ method: 'DELETE', path, signal });
    await reply.discard();
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'not_found') throw error;
  }
  state.sessions.end(runtime_id);
}
