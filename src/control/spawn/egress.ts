// The egress policy of a spawn: its layers, whether its provider can hold it, and the variables that programs get.
import { proxyVariables } from '../../domain/egress/layers.ts';
import { credentialNames } from '../../domain/egress/policy-view.ts';
import { trustVariables } from '../../domain/egress/trust.ts';
import { ServiceError } from '../../domain/errors.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { Provider } from '../../providers/provider.ts';
import type { EgressConfig } from '../../schema/config-egress.ts';
import type { EgressPolicy, EgressWay, SandboxEgress } from '../../schema/egress.ts';
import type { SpawnRequest } from '../../schema/sandbox.ts';
import type { TemplateRecord } from '../../store/seam/templates.ts';
import { checkEgress, egressOff } from '../records/egress-rules.ts';
import type { Settings } from '../records/settings.ts';
import type { Credentials } from '../runtime/credentials.ts';
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

/** Throws `not_implemented` where a sandbox cannot be held to a policy. */
export function requireEgress(
  provider: Provider,
  { pool, worker_id }: { pool: boolean; worker_id: string | undefined },
): void {
  const refuse = (message: string, remedy: string) =>
    new ServiceError('not_implemented', message, { remedy });
  if (pool)
    throw refuse(
      'Sandboxes in shared VMs cannot have an egress policy yet.',
      'Remove egress from the spawn.',
    );
  if (!isLocal(provider) || (worker_id !== undefined && worker_id !== LOCAL_WORKER))
    throw refuse(
      'Sandboxes of workers cannot have an egress policy yet.',
      'Remove egress, or run the sandbox on the server itself.',
    );
  if (provider.hasEgress !== true)
    throw refuse(
      `Sandboxes of ${provider.kind} cannot have an egress policy here.`,
      'Use the provider userspace with bwrap or unshare, container or microvm.',
    );
}

/** The policy as the row will have it. Throws as `egressWay` does. */
export async function egressOf(provider: Provider, wish: EgressWish): Promise<SandboxEgress> {
  const mode = await egressWay(provider, wish);
  return { ...wish, mode, ...(credentialNames(wish).length > 0 && { trust: true as const }) };
}

/**
 * How the programs of a spawn will connect. `auto` is the transparent gate where the provider can make one. Throws
 * `not_implemented` where a gate is wanted and cannot be made.
 */
export async function egressWay(provider: Provider, { template, spawn }: EgressWish): Promise<EgressWay> {
  const mode = spawn?.mode ?? template?.mode ?? 'auto';
  if (mode === 'proxy') return mode;
  const refusal = provider.gateRefusal
    ? await provider.gateRefusal(new AbortController().signal)
    : `Sandboxes of ${provider.kind} cannot have a transparent gate.`;
  if (refusal === undefined) return 'gate';
  if (mode === 'auto') return 'proxy';
  throw new ServiceError('not_implemented', refusal, { remedy: 'Use the egress mode auto or proxy.' });
}

/** The variables that programs get; those of the caller win. Through a gate, programs need none of the proxy. */
export function egressEnv(
  { proxy_env, proxy_port }: EgressConfig,
  { mode, trust }: Pick<SandboxEgress, 'mode' | 'trust'>,
  env: Readonly<Record<string, string>>,
): Record<string, string> {
  const isWanted = proxy_env === 'always' || (proxy_env === 'auto' && mode === 'proxy');
  return { ...(isWanted && proxyVariables(proxy_port)), ...(trust && trustVariables()), ...env };
}
