// On what the campaign runs: how the server is set up, what stands beside it, and which steps are passed there.

import { freePort } from '../../test/support/free-port.ts';
import { IMAGES, startEngine } from '../../test/support/hosts/engine.ts';
import { STEPS, type Step } from '../failpoints/point.ts';
import { startWorker, WORKER, WORKER_SECRET } from './worker.ts';

export const SETTINGS = ['userspace', 'userspace pool', 'userspace worker', 'container'] as const;
export type Setting = (typeof SETTINGS)[number];

/** A process that works beside the server. */
export interface Beside {
  /** Marks what runs there. */
  instance: string;
  stop(): Promise<void>;
}

export interface Scene {
  env: Record<string, string>;
  image: string;
  /** Called once a server answers at `url`, with its folder; the worker that sandboxes run on, where one does. */
  join?: (url: string, home: string) => Promise<Beside>;
  /** Takes away what stands beside the server. */
  clear(): Promise<void>;
}

export const LIMITS = { cap: 6, own: 3 };
const ENV = {
  SVC_DEFAULTS_MAX_SANDBOXES: String(LIMITS.cap),
  SVC_DEFAULTS_MAX_SANDBOXES_PER_OWNER: String(LIMITS.own),
  SVC_DEFAULTS_SPAWN_OVERFLOW: 'queue',
  SVC_DEFAULTS_SPAWN_QUEUE_TIMEOUT: '5s',
  SVC_PROVIDERS_RECONCILE_INTERVAL: '1s',
  SVC_DATABASE_ENDED_RETENTION: '1m',
};
const USERSPACE = { ...ENV, SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare' };
const POOL = {
  SVC_POOL_ENABLED: 'true',
  SVC_POOL_IMAGE: 'host',
  SVC_POOL_MEMORY_MB: '256',
  SVC_POOL_MAX_VMS: '2',
  SVC_POOL_MAX_USERS_PER_VM: '2',
};

export async function scene(setting: Setting): Promise<Scene> {
  const image = 'host';
  const clear = async () => {};
  if (setting === 'userspace pool') return { env: { ...USERSPACE, ...POOL }, image, clear };
  if (setting === 'userspace worker') return { env: await beside(), image, join: startWorker, clear };
  return setting === 'userspace' ? { env: USERSPACE, image, clear } : inContainers();
}

/** The worker has to find the server again after it was killed. */
async function beside(): Promise<Record<string, string>> {
  return {
    ...USERSPACE,
    SVC_SERVER_PORT: String(await freePort()),
    SVC_WORKER_HEARTBEAT_INTERVAL: '1s',
    [`SVC_AUTH_WORKER_TOKENS_${WORKER.toUpperCase()}`]: WORKER_SECRET,
  };
}

async function inContainers(): Promise<Scene> {
  const engine = await startEngine({ images: ['busybox'] });
  const env = {
    ...ENV,
    SVC_PROVIDERS_DEFAULT: 'container',
    SVC_PROVIDERS_CONTAINER_ENABLED: 'true',
    SVC_PROVIDERS_CONTAINER_SOCKET: engine.socket,
    SVC_DEFAULTS_IMAGE: IMAGES.busybox,
  };
  return { env, image: IMAGES.busybox, clear: () => engine.stop() };
}

/** Ready ones that there should be. */
export const warmOf = (setting: Setting) => (hasOwnStock(setting) ? 1 : 0);

/** Ready sandboxes and templates with setup commands are a server's own. */
const hasOwnStock = (setting: Setting) => setting === 'userspace' || setting === 'container';

/** Steps that are passed with this setting. */
export function stepsOf(setting: Setting): readonly Step[] {
  const isWarm = (step: Step) => step.startsWith('warm.') || step === 'sandboxes.take';
  const isPool = (step: Step) => step.startsWith('pool.');
  const isOfWorkers = (step: Step) => step === 'workers.heard' || step === 'leases.renew';
  const isOfServer = (step: Step) => step === 'sandboxes.error' || step === 'workers.drain';
  return STEPS.filter((step) => {
    if (isPool(step)) return setting === 'userspace pool';
    if (isWarm(step)) return hasOwnStock(setting);
    if (isOfWorkers(step)) return setting === 'userspace worker';
    return !(isOfServer(step) && setting === 'userspace worker');
  });
}
