// /etc/resolv.conf of a sandbox on an image: the image's own is that of the machine where it was made, or empty.
import { realpath } from 'node:fs/promises';
import type { UserspaceConfig } from '../../schema/config.ts';
import type { RuntimeSpec } from '../provider.ts';
import type { Runner } from './order.ts';
import type { Bind, RootfsView } from './rootfs-view.ts';
import type { UserNetwork } from './user-network.ts';

export interface ResolverWish {
  runner: Runner;
  spec: Pick<RuntimeSpec, 'gate' | 'role'>;
  view: RootfsView;
  network: UserspaceConfig['network'];
  /** Host file with the name servers of the network, if there are any. */
  source?: string | undefined;
  userNetwork?: UserNetwork;
}

export const NO_NAMES = 'Names do not resolve: the image has no file /etc/resolv.conf.';

/** Covers the file of the image, and that of the host view, which shows the host's by itself. */
export function resolverCovers({ view, network, source }: ResolverWish): Bind[] {
  const isShown = network === 'host' && view.overlay === undefined;
  if (source === undefined || isShown || !view.hasResolver) return [];
  return [{ target: '/etc/resolv.conf', source }];
}

/** The host file for which init makes a file that the image lacks. With a gate, init writes one that names the gate. */
export const addedResolver = (wish: ResolverWish): string | undefined =>
  lacksResolver(wish) && canAdd(wish) ? wish.source : undefined;

/** Whether the sandbox has a name service and no file that could name it. */
export const isWithoutNames = (wish: ResolverWish): boolean => lacksResolver(wish) && !canAdd(wish);

const lacksResolver = ({ spec, view, network }: ResolverWish) =>
  view.overlay !== undefined && view.hasResolver !== true && (network !== 'none' || spec.gate === true);

/** Only an overlay lets init add a file; a pool has none. */
const canAdd = ({ runner, spec, view }: ResolverWish) =>
  runner.name === 'unshare' && spec.role !== 'pool' && view.hasEtc === true;

export const hostResolver = () => realpath('/etc/resolv.conf').catch(() => undefined);
