// The settings of a guest's agent (agent/src/vm/vm.h): records "key=value", each ended by a NUL byte. The monitor passes them
// on; none of them is in an argument or in the guest's command line.

import { encodeSettings, type Setting } from '../local/settings.ts';
import type { Created, RuntimeSpec } from '../provider.ts';

const MEBIBYTE = 1024 * 1024;
const MAX_RING = 8 * MEBIBYTE;

export interface GuestOrder {
  spec: RuntimeSpec;
  made: Pick<Created, 'memory_mb'>;
  network: 'none' | 'user';
  secret: Buffer;
  /** The time after which the guest ends by itself, in ms. */
  lifeMs?: number | undefined;
}

export function guestSettings({ spec, made, network, secret, lifeMs }: GuestOrder): Buffer {
  const memory = made.memory_mb * MEBIBYTE;
  const half = `${memory / 2}`;
  return encodeSettings([
    ['secret', secret.toString('hex')],
    ['hostname', spec.id],
    ['workdir', '/workspace'],
    ['ring_budget', `${Math.min(MAX_RING, memory / 16)}`],
    ['tmp_bytes', half],
    ['shm_bytes', half],
    ['changes_bytes', half],
    ['network', network],
    ...(lifeMs === undefined ? [] : [['life_ms', `${lifeMs}`] as Setting]),
    ...(network === 'none' ? WITHOUT_NETWORK : []),
    ...ENVIRONMENT,
  ]);
}

/** Modules that would be loaded for nothing. */
const WITHOUT_NETWORK = ['virtio_net', 'net_failover', 'failover'].map((name): Setting => ['without', name]);

const ENVIRONMENT = Object.entries({
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: '/root',
  USER: 'root',
  LOGNAME: 'root',
  LANG: 'C.UTF-8',
}).map(([key, value]): Setting => ['env', `${key}=${value}`]);
