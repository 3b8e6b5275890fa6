// Builds the server with failpoints from the sources: the modules that open the store and the providers are replaced by
// those of failpoints/, and housekeeping comes round often; everything else is what ships. The package itself holds no
// failpoint.
import { join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import {
  packageRoot,
  type ServerOptions,
  startServer,
  type TestServer,
} from '../../test/support/servers/server.ts';
import { type Action, type Armed, FIRED, POINTS, type Point } from './point.ts';

/** What is imported, by whom, and what stands in for it. */
const STAND_INS: Readonly<Record<string, { by: string; name: string }>> = {
  '../store/sqlite/open.ts': { by: 'app/open-store.ts', name: 'store.ts' },
  '../providers/registry.ts': { by: 'app/control-plane.ts', name: 'registry.ts' },
  './maintenance/housekeeping.ts': { by: 'control/create.ts', name: 'housekeeping.ts' },
};

const standIns: Plugin = {
  name: 'failpoints',
  setup: ({ onResolve, onEnd }) => {
    const missing = new Set(Object.keys(STAND_INS));
    // A server without its failpoints would pass every trial that ends by itself.
    onEnd(() => {
      if (missing.size > 0)
        throw new Error(`nothing imports ${[...missing].join(', ')} where it is expected`);
    });
    onResolve({ filter: /\/(open|registry|housekeeping)\.ts$/ }, ({ path, importer }) => {
      const standIn = STAND_INS[path];
      if (!standIn || !importer.endsWith(join('src', standIn.by))) return undefined;
      missing.delete(path);
      return { path: join(packageRoot, 'proof/failpoints', standIn.name) };
    });
  },
};

let built: Promise<string> | undefined;

/** A server that fails at `point`, the first time it comes by. */
export async function startFailing(
  point: Point,
  action: Action,
  options: ServerOptions,
): Promise<TestServer> {
  const env = { ...options.env, SVC_TEST_FAILPOINT: `${POINTS[point]}:${action}` };
  return startArmable({ ...options, env });
}

/** A server that fails where and when `arm` says. */
export async function startArmable(options: ServerOptions): Promise<TestServer> {
  built ??= bundle();
  return startServer({ ...options, program: [await built] });
}

/** Undefined disarms it. `fired` counts the points that fired. */
export function arm({ child }: TestServer, armed: Armed | undefined): void {
  child.send({ arm: armed ?? null });
}

/** The number of points of this server that have fired. */
export function fired(server: TestServer): number {
  return server.log().split(`${FIRED} `).length - 1;
}

/** Inside the package, so that it finds packages and the agent as the shipped one does. */
async function bundle(): Promise<string> {
  const outfile = join(packageRoot, '.cache', 'failpoints.mjs');
  await build({
    entryPoints: [join(packageRoot, 'proof/failpoints/serve.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    logLevel: 'error',
    plugins: [standIns],
  });
  return outfile;
}
