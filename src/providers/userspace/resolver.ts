// /etc/resolv.conf of a sandbox on an image: the image's own is that of the machine where it was made, or empty.
import { realpath } from 'node:fs/promises';
import type { RuntimeSpec } from '../provider.ts';
import type { Runner } from './order.ts';
import type { Bind, RootfsView } from './rootfs-view.ts';

export interface ResolverWish {
  runner: Runner;
  spec: Pick<RuntimeSpec, 'gate' | 'role'>;
  view: RootfsView;
  network: 'none' | 'host';
}

export const NO_NAMES = 'Names do not resolve: the image has no file /etc/resolv.conf.';

/** Covers the image's file with the host's, with the host's network. */
export async function resolverCovers({ view, network }: ResolverWish): Promise<Bind[]> {
  if (view.overlay === undefined || !view.hasResolver || network !== 'host') return [];
  const source = await hostResolver();
  return source === undefined ? [] : [{ target: '/etc/resolv.conf', source }];
}

/** The host file for which init makes a file that the image lacks. With a gate, init writes one that names the gate. */
export async function addedResolver(wish: ResolverWish): Promise<string | undefined> {
  return lacksResolver(wish) && canAdd(wish) && !wish.spec.gate ? hostResolver() : undefined;
}

/** Whether the sandbox has a name service and no file that could name it. */
export const isWithoutNames = (wish: ResolverWish): boolean => lacksResolver(wish) && !canAdd(wish);

const lacksResolver = ({ spec, view, network }: ResolverWish) =>
  view.overlay !== undefined && view.hasResolver !== true && (network === 'host' || spec.gate === true);

/** Only an overlay lets init add a file; a pool has none. */
const canAdd = ({ runner, spec, view }: ResolverWish) =>
  runner.name === 'unshare' && spec.role !== 'pool' && view.hasEtc === true;

const hostResolver = () => realpath('/etc/resolv.conf').catch(() => undefined);
