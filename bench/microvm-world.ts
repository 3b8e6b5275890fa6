// What the rows of virtual machines are measured in: servers that differ in how their guests start, and in nothing else.
// All of them emulate, so that a figure means the same on every machine; each row says so.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '../src/client/client.ts';
import { withHome } from './folders.ts';
import { withServer } from './server.ts';
import { stockMonitor } from './stock-machine.ts';

const MEMORY_MB = 256;

export interface MicrovmWorld {
  /** Guests from a template, which is there. */
  restoring: Client;
  /** Guests that boot. */
  booting: Client;
  /** Guests that boot with the same kernel and agent in QEMU's default machine. */
  withStock(work: (stock: Client) => Promise<void>): Promise<void>;
}

type Image = (root: string, home: string) => string;

export function withMicrovms(
  root: string,
  image: Image,
  work: (world: MicrovmWorld) => Promise<void>,
): Promise<void> {
  return withHome((home) => {
    const file = image(root, home);
    const serve = (name: string, env: Record<string, string>, next: (client: Client) => Promise<void>) => {
      const own = join(home, name);
      mkdirSync(own);
      return withServer(root, { home: own, env: { ...common(own, file), ...env } }, ({ client }) =>
        next(client),
      );
    };
    const booted = { SVC_PROVIDERS_MICROVM_SNAPSHOTS: 'false' };
    return serve('restoring', {}, async (restoring) => {
      await firstOutput(restoring);
      const withStock: MicrovmWorld['withStock'] = async (next) => {
        const monitor = await stockOf(restoring, home);
        await serve('stock', { ...booted, SVC_PROVIDERS_MICROVM_MONITOR_PATH: monitor }, next);
      };
      await serve('booting', booted, (booting) => work({ restoring, booting, withStock }));
    });
  });
}

async function stockOf(restoring: Client, home: string): Promise<string> {
  const [template] = await restoring.system.snapshots();
  if (!template) throw new Error('the first sandbox left no template');
  const machines = join(home, 'restoring', 'machines');
  return stockMonitor({ folder: join(home, 'stock-machine'), version: template.kernel, machines });
}

function common(home: string, image: string): Record<string, string> {
  return {
    SVC_PROVIDERS_DEFAULT: 'microvm',
    SVC_PROVIDERS_MICROVM_ENABLED: 'true',
    SVC_PROVIDERS_MICROVM_ACCELERATOR: 'emulation',
    SVC_PROVIDERS_MICROVM_DATA_DIR: join(home, 'machines'),
    SVC_PROVIDERS_MICROVM_IMAGES: JSON.stringify({ bench: image }),
    SVC_DEFAULTS_IMAGE: 'bench',
    SVC_DEFAULTS_MAX_SANDBOXES: '0',
  };
}

export async function spawned(client: Client): Promise<string> {
  const { id } = await client.spawn({ ttl: '30m', memory_mb: MEMORY_MB });
  return id;
}

export async function firstCommand(client: Client, id: string): Promise<void> {
  const { stdout } = await client.exec(id, { command: 'echo ok' });
  if (stdout !== 'ok\n') throw new Error(`the exec answered ${JSON.stringify(stdout)}`);
}

/** ms from the request for a sandbox to the output of its first command. Its end is not counted. */
export async function firstOutput(client: Client): Promise<number> {
  const began = performance.now();
  const id = await spawned(client);
  await firstCommand(client, id);
  const took = performance.now() - began;
  await client.destroy(id);
  return took;
}
