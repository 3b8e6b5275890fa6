// A sandbox at the backend: asked for with our labels in its metadata, so that one whose answer was lost is found.
import { ServiceError } from '../../domain/errors.ts';
import { asNotStarted } from '../../domain/not-started.ts';
import { labelsFor } from '../backends/labels.ts';
import { isUndone, strangeAnswer } from '../outgoing/faults.ts';
import type { Created, RuntimeSpec } from '../provider.ts';
import { objectIn, WHAT } from './backend.ts';
import type { CustomState } from './deps.ts';

/** What may stand in a path without being encoded, and does not read as a way up. */
const BACKEND_ID = /^(?!\.{1,2}$)[A-Za-z0-9._~:-]{1,256}$/;

export async function createRuntime(
  state: CustomState,
  spec: RuntimeSpec,
  signal: AbortSignal,
): Promise<Created> {
  const { image, memory_mb, vcpus } = spec;
  if (spec.role !== undefined) throw new ServiceError('not_implemented', 'Provider custom hosts no pools.');
  const asked = state.backend.ask({
    method: 'POST',
    path: '/spawn',
    json: {
      ...(image !== undefined && { image }),
      ...{ memory_mb, vcpus, metadata: labelsFor(state.instance, spec) },
    },
    signal,
    means: {
      404: ['not_found', 'The custom backend does not have this image.'],
      409: ['conflict', 'There is a sandbox of this attempt already.'],
    },
  });
  const reply = await asked.catch((error: unknown) => {
    throw isUndone(error) ? asNotStarted(error, signal) : error;
  });
  const answer = objectIn(await reply.json());
  return {
    runtime_id: backendId(answer.id),
    image: inForce(answer.image, image ?? 'default'),
    ...sizesInForce(answer, spec),
  };
}

/** Throws `provider_error` for what is no id. */
export function backendId(id: unknown): string {
  if (typeof id === 'string' && BACKEND_ID.test(id)) return id;
  throw strangeAnswer(WHAT, 'gave a sandbox without a usable id');
}

function sizesInForce(answer: Record<string, unknown>, spec: RuntimeSpec) {
  const sizes = {
    memory_mb: inForce(answer.memory_mb, spec.memory_mb),
    vcpus: inForce(answer.vcpus, spec.vcpus),
  };
  const warnings = (['memory_mb', 'vcpus'] as const)
    .filter((key) => sizes[key] !== spec[key])
    .map((key) => `${key}: ${spec[key]} were asked for; the backend gave ${sizes[key]}.`);
  return { ...sizes, warnings };
}

/** What the backend says it gave, where it says so and it makes sense; else what was asked for. */
function inForce<T extends string | number>(said: unknown, asked: T): T {
  const fits =
    typeof said === 'string'
      ? /^[\x21-\x7e]{1,512}$/.test(said)
      : Number.isSafeInteger(said) && (said as number) > 0;
  return typeof said === typeof asked && fits ? (said as T) : asked;
}
