// What decides about the connections of a sandbox: its policies, the rules of the server, the ceiling of its owner, and the
// credentials that it may use now.
import { orderedRules } from '../../domain/egress/applied.ts';
import type { EgressCredential } from '../../domain/egress/credential.ts';
import type { EgressConfig } from '../../schema/config-egress.ts';
import type { EgressPolicy } from '../../schema/egress.ts';
import type { EgressOrder } from '../../schema/worker-egress.ts';
import type { QuotaStore } from '../../store/seam/quotas.ts';
import type { GatedSandbox } from './applied-egress.ts';
import type { Authorities } from './authorities.ts';
import type { Credentials } from './credentials.ts';

export interface EgressOrdersDeps {
  config: EgressConfig;
  quotas: Pick<QuotaStore, 'get'>;
  credentials: Pick<Credentials, 'of'>;
  authorities: Pick<Authorities, 'all'>;
}

type Subject = Pick<GatedSandbox, 'egress' | 'owner_id'>;

/** Read as the store has it now. Rejects as the store does. */
export async function orderOf(
  { config, quotas, credentials }: EgressOrdersDeps,
  { egress: { mode, template, spawn }, owner_id }: Subject,
): Promise<EgressOrder> {
  const owner = owner_id === undefined ? undefined : (await quotas.get(owner_id))?.egress;
  const policies = [template, spawn].filter((policy) => policy !== undefined);
  return {
    server: orderedRules(config),
    proxy_port: config.proxy_port,
    mode,
    ...(owner && { owner }),
    ...(template && { template: rulesOf(template) }),
    ...(spawn && { spawn: rulesOf(spawn) }),
    credentials: (await credentials.of(policies, owner_id)).map(plain),
    authorities: [],
  };
}

/** The same deps, which read the ceiling of each owner once. */
export function ordersOnce(deps: EgressOrdersDeps): EgressOrdersDeps {
  const known = new Map<string, ReturnType<QuotaStore['get']>>();
  const get = (owner_id: string) => {
    const found = known.get(owner_id) ?? deps.quotas.get(owner_id);
    known.set(owner_id, found);
    return found;
  };
  return { ...deps, quotas: { get } };
}

/** The same for a worker, which ends TLS by itself. */
export async function orderForWorker(deps: EgressOrdersDeps, row: Subject): Promise<EgressOrder> {
  const order = await orderOf(deps, row);
  if (!row.egress.trust) return order;
  return { ...order, authorities: (await deps.authorities.all()).map(({ pair }) => ({ ...pair })) };
}

function rulesOf({ credentials: _, ...rules }: EgressPolicy): EgressPolicy {
  return rules;
}

function plain({
  targets,
  methods,
  path_prefixes,
  ...each
}: EgressCredential): EgressOrder['credentials'][number] {
  return {
    ...each,
    targets: targets.map((target) => ({ ...target })),
    ...(methods && { methods: [...methods] }),
    ...(path_prefixes && { path_prefixes: [...path_prefixes] }),
  };
}
