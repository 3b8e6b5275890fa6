// The egress policy of a spawn: its layers, whether its provider can hold it, and the variables that programs get.
import { proxyVariables } from '../../domain/egress/layers.ts';
import { credentialNames } from '../../domain/egress/policy-view.ts';
import { trustVariables } from '../../domain/egress/trust.ts';
import { ServiceError } from '../../domain/errors.ts';
import { EGRESS, EGRESS_GATE } from '../../domain/worker-capabilities.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { Provider } from '../../providers/provider.ts';
import type { EgressConfig } from '../../schema/config-egress.ts';
import type { EgressPolicy, EgressWay, SandboxEgress } from '../../schema/egress.ts';
import type { SpawnRequest } from '../../schema/sandbox.ts';
import type { TemplateRecord } from '../../store/seam/templates.ts';
import { checkEgress, egressOff } from '../records/egress-rules.ts';
import type { Settings } from '../records/settings.ts';
import type { Credentials } from '../runtime/credentials.ts';
import type { Fleet } from '../workers/fleet.ts';
import { isLocal } from './choose.ts';

/** The layers that a spawn brings. */
export type EgressWish = Omit<SandboxEgress, 'mode' | 'trust'>;

/**
 * The policies of the spawn and its template, else that of the server; undefined: none. `network: none` of a spawn sets the policy
 * of its template aside. Throws `bad_request` and `not_implemented`.
 */
export function egressWish(
  request: Pick<SpawnRequest, 'egress' | 'network'>,
  template: Pick<TemplateRecord, 'egress' | 'network'> | undefined,
  { egress: config, opensEgress }: Pick<Settings, 'egress' | 'opensEgress'>,
): EgressWish | undefined {
  const network = request.network ?? template?.network;
  checkEgress({ ...request, ...(network !== undefined && { network }) }, config);
  if (network === 'none') return undefined;
  const spawn = request.egress ?? (template?.egress === undefined ? defaultPolicy(config) : undefined);
  if (spawn === undefined && template?.egress === undefined) return undefined;
  if (!config.enabled || !opensEgress) throw egressOff(config);
  return { ...(template?.egress && { template: template.egress }), ...(spawn && { spawn }) };
}

/** The request without its policy, which is sealed now, and with the variables of its credentials. */
export async function withCredentials(
  { credentials }: { credentials: Pick<Credentials, 'wish'> },
  { egress: _, ...request }: SpawnRequest,
  { wish, owner_id }: { wish: EgressWish | undefined; owner_id: string | undefined },
): Promise<{ egress: EgressWish | undefined; request: SpawnRequest }> {
  if (wish === undefined) return { egress: undefined, request };
  const { wish: egress, env } = await credentials.wish(wish, owner_id);
  return { egress, request: { ...request, env: { ...env, ...request.env } } };
}

function defaultPolicy({ default_policy }: EgressConfig): EgressPolicy | undefined {
  const { default: otherwise, allow, deny } = default_policy;
  return otherwise === 'none' ? undefined : { default: otherwise, allow: [...allow], deny: [...deny] };
}

type EgressMode = NonNullable<EgressPolicy['mode']>;

/** Where a policy can be held. */
export interface EgressPlace {
  /** As the row will have it. */
  egress: SandboxEgress;
  /** Workers can, and this server cannot. */
  isElsewhere: boolean;
}

/**
 * How the programs of a spawn will connect: `auto` is the transparent gate where one can be made. This server comes first. Throws
 * `not_implemented` where neither it nor a worker can hold the policy.
 */
export async function egressPlace(
  { fleet, settings }: { fleet: Pick<Fleet, 'abilities'>; settings: Pick<Settings, 'pool'> },
  provider: Provider,
  { wish, worker_id }: { wish: EgressWish; worker_id: string | undefined },
): Promise<EgressPlace> {
  if (settings.pool)
    throw refusal(
      'Sandboxes in shared VMs have the network of their VM, so none can have an egress policy of its own.',
      'Remove egress from the spawn, or use a server with pool.enabled false.',
    );
  const trust = credentialNames(wish).length > 0 && { trust: true as const };
  const wanted = wish.spawn?.mode ?? wish.template?.mode ?? 'auto';
  const mayBeHere = worker_id === undefined || worker_id === LOCAL_WORKER;
  const here = mayBeHere && isLocal(provider) ? await wayHere(provider, wanted) : undefined;
  if (typeof here === 'string') return { egress: { ...wish, mode: here, ...trust }, isElsewhere: false };
  const mode = await wayOnWorkers(fleet, { kind: provider.kind, worker_id }, wanted);
  if (mode !== undefined) return { egress: { ...wish, mode, ...trust }, isElsewhere: true };
  throw here ?? noWorker(provider.kind, wanted);
}

const refusal = (message: string, remedy: string) => new ServiceError('not_implemented', message, { remedy });

const noWorker = (kind: string, wanted: string) =>
  refusal(
    `No worker can hold sandboxes of ${kind} to an egress policy${wanted === 'gate' ? ' through a transparent gate' : ''}.`,
    'Check worker.sessions, egress.enabled and the version of the workers, or remove egress.',
  );

/** The refusal, or how programs connect. */
async function wayHere(provider: Provider, wanted: EgressMode): Promise<EgressWay | ServiceError> {
  if (provider.hasEgress !== true)
    return refusal(
      `Sandboxes of ${provider.kind} cannot have an egress policy here.`,
      'Use the provider userspace with bwrap or unshare, container or microvm.',
    );
  if (wanted === 'proxy') return wanted;
  const refused = provider.gateRefusal
    ? await provider.gateRefusal(new AbortController().signal)
    : `Sandboxes of ${provider.kind} cannot have a transparent gate.`;
  if (refused === undefined) return 'gate';
  return wanted === 'auto' ? 'proxy' : refusal(refused, 'Use the egress mode auto or proxy.');
}

async function wayOnWorkers(
  fleet: Pick<Fleet, 'abilities'>,
  { kind, worker_id }: { kind: string; worker_id: string | undefined },
  wanted: EgressMode,
): Promise<EgressWay | undefined> {
  const has = async (capability: string) =>
    (await fleet.abilities.able(kind, capability)).some((id) => worker_id === undefined || id === worker_id);
  if (wanted !== 'proxy' && (await has(EGRESS_GATE))) return 'gate';
  return wanted !== 'gate' && (await has(EGRESS)) ? 'proxy' : undefined;
}

/** What a worker must be able to do for the policy. */
export const egressCapability = ({ mode }: Pick<SandboxEgress, 'mode'>): string =>
  mode === 'gate' ? EGRESS_GATE : EGRESS;

/** The variables that programs get; those of the caller win. Through a gate, programs need none of the proxy. */
export function egressEnv(
  { proxy_env, proxy_port }: EgressConfig,
  { mode, trust }: Pick<SandboxEgress, 'mode' | 'trust'>,
  env: Readonly<Record<string, string>>,
): Record<string, string> {
  const isWanted = proxy_env === 'always' || (proxy_env === 'auto' && mode === 'proxy');
  return { ...(isWanted && proxyVariables(proxy_port)), ...(trust && trustVariables()), ...env };
}
