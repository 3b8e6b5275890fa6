// Ends a sandbox at the backend. Gone is success, whoever ended it.
import { ServiceError } from '../../domain/errors.ts';
import type { RuntimeRef } from '../provider.ts';
import type { CustomState } from './deps.ts';
import { findRuntime } from './lookup.ts';

export async function destroyRuntime(
  state: CustomState,
  ref: RuntimeRef,
  signal: AbortSignal,
): Promise<void> {
  const runtime_id = await findRuntime(state, ref, signal);
  if (runtime_id === undefined) return;
  try {
    const path = `/sandboxes/${encodeURIComponent(runtime_id)}`;
    const reply = await state.backend.ask({ method: 'DELETE', path, signal });
    await reply.discard();
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'not_found') throw error;
  }
  state.sessions.end(runtime_id);
}
