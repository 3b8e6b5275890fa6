// Builds the server with failpoints from the sources: the modules that open the store and the providers are replaced by
// those of failpoints/, everything else is what ships. The package itself holds no failpoint.
import { join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { type Action, type Armed, FIRED, POINTS, type Point } from './failpoints/point.ts';
import { packageRoot, type ServerOptions, startServer, type TestServer } from './server.ts';

const STAND_INS: Readonly<Record<string, string>> = {
  '../store/sqlite/open.ts': 'store.ts',
  '../providers/registry.ts': 'registry.ts',
};

const standIns: Plugin = {
  name: 'failpoints',
  setup: ({ onResolve }) => {
    onResolve({ filter: /\/(open|registry)\.ts$/ }, ({ path, importer }) => {
      const name = STAND_INS[path];
      const wanted = importer.endsWith(join('src', 'app', 'control-plane.ts'));
      return name && wanted ? { path: join(packageRoot, 'test/support/failpoints', name) } : undefined;
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

/** Undefined disarms it. What a place does when it is passed is in `fired`. */
export function arm({ child }: TestServer, armed: Armed | undefined): void {
  child.send({ arm: armed ?? null });
}

/** How many places of this server have done what they were told. */
export function fired(server: TestServer): number {
  return server.log().split(`${FIRED} `).length - 1;
}

/** Inside the package, so that it finds packages and the agent as the shipped one does. */
async function bundle(): Promise<string> {
  const outfile = join(packageRoot, '.cache', 'failpoints.mjs');
  await build({
    entryPoints: [join(packageRoot, 'test/support/failpoints/serve.ts')],
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
