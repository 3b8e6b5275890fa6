// Wires `svc provider test custom --conformance` to the configuration, clock and randomness of this machine.
import { loadProcessConfig } from '../config/process-config.ts';
import { ServiceError } from '../domain/errors.ts';
import { realClock } from '../host/clock.ts';
import { realRandom } from '../host/random.ts';
import { type ConformancePlan, planConformance } from '../ops/conformance/conformance.ts';

/** `file` is the value of `--config`. Throws `bad_request` if no backend is configured. */
export function conformanceHere(file: string | undefined, signal: AbortSignal): ConformancePlan {
  const { custom } = loadProcessConfig({ file }).config.providers;
  if (custom.base_url === '')
    throw new ServiceError('bad_request', 'No custom backend is configured.', {
      remedy:
        'Set providers.custom.base_url, for example SVC_PROVIDERS_CUSTOM_BASE_URL=http://127.0.0.1:8090.',
    });
  return planConformance({ clock: realClock(), random: realRandom(), config: custom, signal });
}
