// A provider that only other workers have, as far as a spawn is planned by it. It makes nothing: the worker does.
import { ServiceError } from '../../domain/errors.ts';
import type { Provider } from '../../providers/provider.ts';
import type { ProviderKind } from '../../schema/provider.ts';

export function elsewhere(kind: ProviderKind): Provider {
  const refuse = async () => {
    throw new ServiceError('unavailable', `This server has no provider ${kind} of its own.`);
  };
  return {
    kind,
    capabilities: ['network_none'],
    describe: () => ({ isolation: {}, images: ['*'] }),
    probe: async () => ({ healthy: true, findings: [] }),
    ...{ create: refuse, inspect: refuse, destroy: refuse, attach: refuse, list: refuse },
    close: async () => {},
  };
}
