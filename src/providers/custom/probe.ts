// Checks that the backend responds and lists its sandboxes. Creates nothing.
import { asServiceError } from '../../domain/errors.ts';
import type { ProbeReport } from '../provider.ts';
import type { CustomState } from './deps.ts';
import { inventory } from './runtimes.ts';

type Finding = ProbeReport['findings'][number];

/** Never throws; settles when `signal` aborts. */
export async function probeCustom(state: CustomState, signal: AbortSignal): Promise<ProbeReport> {
  const backend = await finding('backend', async () => {
    const reply = await state.backend.request({ method: 'GET', path: '/health', signal });
    await reply.discard();
    return 'The backend answers.';
  });
  if (!backend.ok) return { healthy: false, message: backend.message, findings: [backend] };
  const listing = await finding('inventory', async () => {
    const found = await inventory(state, signal);
    if (found) return 'The backend lists its sandboxes.';
    return 'The backend has no inventory: a sandbox whose create reply was lost stays there until someone destroys it.';
  });
  const { ok: healthy, message } = listing;
  return { healthy, findings: [backend, listing], ...(!healthy && { message }) };
}

async function finding(name: string, look: () => Promise<string>): Promise<Finding> {
  try {
    return { name, ok: true, message: await look() };
  } catch (error) {
    const { message, remedy } = asServiceError(error);
    return { name, ok: false, message: [message, remedy].filter(Boolean).join(' ') };
  }
}
