// Boots a guest and waits until its agent is ready.
import { rm } from 'node:fs/promises';
import { agentSecret } from '../../domain/agent-secret.ts';
import { launch, type Making, networkOf } from './launch.ts';
import { guestSettings } from './settings.ts';
import type { MicrovmState } from './state.ts';

/** When this throws, `clear` removes the remains in the run folder. */
export async function boot(state: MicrovmState, making: Making, signal: AbortSignal): Promise<void> {
  const { spec, shape, paths } = making;
  const secret = agentSecret(state.instance.key, spec.id, spec.epoch);
  const settings = guestSettings({ spec, made: shape, network: networkOf(state, spec), secret });
  const overlay = (path: string) => state.overlays.make(path);
  const { process, plan } = await launch(
    state,
    making,
    { settings, memory: { kind: 'own' }, overlay },
    signal,
  );
  try {
    await state.monitor.ready(state.clock, { process, plan }, signal);
    await rm(paths.settings, { force: true });
  } finally {
    process.release();
  }
}
