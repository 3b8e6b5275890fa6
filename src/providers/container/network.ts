// The network of sandboxes. `svc` is our own bridge on which containers cannot reach each other: one per engine, shared by
// all servers, because an engine has few subnets.
import { ServiceError } from '../../domain/errors.ts';
import { once } from '../../domain/once.ts';
import type { ContainerConfig } from '../../schema/config-container.ts';
import type { Engine } from './engine.ts';
import { refusedWith } from './engine-faults.ts';
import { LABEL } from './names.ts';

export const OWN_NETWORK = 'svc';
const ISOLATED = 'com.docker.network.bridge.enable_icc';

export interface Network {
  /** Resolves with the network mode of a container; creates our bridge if needed, once for concurrent callers. */
  ready(requested: 'default' | 'none'): Promise<string>;
  /** The network is missing: the next `ready` checks again. */
  forget(): void;
}

export function network(engine: Engine, { network_mode }: Pick<ContainerConfig, 'network_mode'>): Network {
  const bridge = once(() => ensure(engine));
  return {
    ready: async (requested) => {
      if (requested === 'none') return 'none';
      if (network_mode === OWN_NETWORK) await bridge();
      return network_mode;
    },
    forget: bridge.forget,
  };
}

async function ensure(engine: Engine): Promise<void> {
  const isThere = await look(engine);
  if (isThere) return;
  const body = {
    Name: OWN_NETWORK,
    CheckDuplicate: true,
    Driver: 'bridge',
    Labels: { [LABEL.network]: OWN_NETWORK },
    Options: { [ISOLATED]: 'false' },
  };
  try {
    const order = { method: 'POST', path: '/networks/create', body, what: 'make the network' } as const;
    await engine.json(order);
  } catch (error) {
    // Another server created it first.
    if (!refusedWith(error, 409)) throw cannotMake(error);
    await look(engine);
  }
}

/** Throws for a network of this name that does not isolate its containers. */
async function look(engine: Engine): Promise<boolean> {
  try {
    const order = { method: 'GET', path: `/networks/${OWN_NETWORK}`, what: 'look up the network' } as const;
    const found = (await engine.json(order)) as { Options?: Record<string, string> | null } | undefined;
    if (found?.Options?.[ISOLATED] === 'false') return true;
    throw foreign();
  } catch (error) {
    if (refusedWith(error, 404)) return false;
    throw error;
  }
}

function foreign(): ServiceError {
  return new ServiceError(
    'provider_error',
    'The engine has a network named svc that does not isolate sandboxes from each other.',
    { remedy: 'Remove it, or set providers.container.network_mode to another network.' },
  );
}

function cannotMake(cause: unknown): ServiceError {
  if (cause instanceof ServiceError) return cause;
  return new ServiceError('provider_error', 'The engine could not create the network for sandboxes.', {
    cause,
    remedy: 'Check the engine, or set providers.container.network_mode to none or to an existing network.',
  });
}
