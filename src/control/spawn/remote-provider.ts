// A placeholder for a provider of other workers, used to plan a spawn. The worker creates the sandbox.
import { ServiceError } from '../../domain/errors.ts';
import type { Provider } from '../../providers/provider.ts';
import type { ProviderKind } from '../../schema/provider.ts';

interface RemoteProvider extends Provider {
  readonly isElsewhere: true;
}

/** Whether this server itself may run a sandbox of this provider. */
export const isLocal = (provider: Provider): boolean => !('isElsewhere' in provider);

export function remoteProvider(kind: ProviderKind): RemoteProvider {
  const refuse = async () => {
    throw new ServiceError('unavailable', `This server has no provider ${kind} of its own.`);
  };
  return {
    kind,
    isElsewhere: true,
    capabilities: ['network_none'],
    describe: () => ({ isolation: {}, images: ['*'] }),
    probe: async () => ({ healthy: true, findings: [] }),
    create: refuse,
    inspect: refuse,
    destroy: refuse,
    attach: refuse,
    list: refuse,
    close: async () => {},
  };
}
