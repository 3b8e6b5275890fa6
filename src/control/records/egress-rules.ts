// What requests may say of egress, and what sandboxes report of it.
import { checkPolicy, ruleOptions } from '../../domain/egress/layers.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { EgressConfig } from '../../schema/config-egress.ts';
import type { SandboxEgress } from '../../schema/egress.ts';
import type { SpawnRequest } from '../../schema/sandbox.ts';

/** `egress` and `network` in one request or template. Throws `bad_request` for both, and for an invalid policy. */
export function checkEgress(
  { egress, network }: Pick<SpawnRequest, 'egress' | 'network'>,
  config: EgressConfig,
): void {
  if (egress === undefined) return;
  if (!config.enabled) throw egressOff(config);
  if (network === 'none')
    throw new ServiceError('bad_request', 'egress cannot be combined with network none.', {
      remedy: 'Remove one of them.',
    });
  checkPolicy(egress, ruleOptions(config));
}

/** No policy can be held here. */
export const egressOff = ({ enabled }: Pick<EgressConfig, 'enabled'>) =>
  enabled
    ? new ServiceError('not_implemented', 'This server opens no connections for sandboxes.', {
        remedy: 'Remove egress.',
      })
    : new ServiceError('not_implemented', 'Egress policies are switched off on this server.', {
        remedy: 'Remove egress, or set egress.enabled to true.',
      });

/** What `warnings` of a sandbox say of its policy. */
export function egressNotes({ mode }: Pick<SandboxEgress, 'mode'>): string[] {
  return mode === 'proxy' ? [PROXY_NOTE] : [];
}

const PROXY_NOTE =
  'egress: programs connect through a proxy. Those that do not read https_proxy, such as Java, .NET and Node.js before 22, are cut off.';
