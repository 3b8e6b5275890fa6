// The settings of a guest's agent (agent/src/vm/vm.h): records "key=value", each ended by a NUL byte. The monitor passes them
// on; none of them is in an argument or in the guest's command line.

import { encodeSettings, environmentSettings, ringSetting, type Setting } from '../local/settings.ts';
import type { Created, RuntimeSpec } from '../provider.ts';

const MEBIBYTE = 1024 * 1024;

interface GuestOrder {
  spec: RuntimeSpec;
  made: Pick<Created, 'memory_mb'>;
  network: 'none' | 'user';
  secret: Buffer;
  /** The environment that the image brings. */
  env: Record<string, string>;
  /** The time after which the guest ends by itself, in ms. */
  lifeMs?: number | undefined;
}

export function guestSettings({ spec, made, network, secret, env, lifeMs }: GuestOrder): Buffer {
  const half = `${(made.memory_mb * MEBIBYTE) / 2}`;
  return encodeSettings([
    ['secret', secret.toString('hex')],
    ['hostname', spec.id],
    ['workdir', '/workspace'],
    ringSetting(made.memory_mb),
    ['tmp_bytes', half],
    ['shm_bytes', half],
    ['changes_bytes', half],
    ['network', network],
    ...(lifeMs === undefined ? [] : [['life_ms', `${lifeMs}`] as Setting]),
    ...(network === 'none' ? WITHOUT_NETWORK : []),
    ...environmentSettings('root', '/root', env),
  ]);
}

/** Modules that would be loaded for nothing. */
const WITHOUT_NETWORK = ['virtio_net', 'net_failover', 'failover'].map((name): Setting => ['without', name]);
