// Bundles what bin/svc.js runs without oclif into one file, as small as it gets. CommonJS: an import of `node:fs` makes Node
// load all that it can hand out, streams too.
import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { BUNDLE } from './bundle.js';
import { configCheck } from './config-check.js';
import { configData } from './config-data.js';
import { lazyRequires } from './lazy-requires.js';

const yaml = dirname(createRequire(import.meta.url).resolve('yaml/package.json'));

const COMPILE_ATTEMPTS = 3;
const REJECTED = 3;

/** Schemas that nothing reads are left out, and with them what they are written in. */
const pureSchemas = {
  name: 'pure-schemas',
  setup(build) {
    build.onLoad({ filter: /\/src\/schema\/[^/]+\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replace(/\bType\.\w+\(/g, '/* @__PURE__ */ $&'),
      loader: 'ts',
    }));
  },
};

const undiciAgent = {
  name: 'undici-agent',
  setup(build) {
    build.onResolve({ filter: /^undici$/ }, () => ({
      path: fileURLToPath(new URL('undici-agent.cjs', import.meta.url)),
    }));
  },
};

const plainAssert = {
  name: 'plain-assert',
  setup(build) {
    build.onResolve({ filter: /^node:assert$/ }, ({ importer }) =>
      importer.includes('/undici/') ? { path: inScripts('plain-assert.cjs') } : undefined,
    );
  },
};

/** What oclif prints with DEBUG; bin/svc.js runs oclif as a whole then. */
const noDebug = {
  name: 'no-debug',
  setup(build) {
    build.onResolve({ filter: /^debug$/ }, () => ({
      path: fileURLToPath(new URL('no-debug.cjs', import.meta.url)),
    }));
  },
};

/** Only the client of ws: its server and streams are files that no command uses. */
const wsClient = {
  name: 'ws-client',
  setup(build) {
    build.onResolve({ filter: /^ws$/ }, () => ({
      path: join(dirname(createRequire(import.meta.url).resolve('ws/package.json')), 'lib/websocket.js'),
    }));
  },
};

/** Writes dist/fast-path/main.cjs of the package at `root`. */
export async function buildLintPath(root) {
  await build({
    ...BUNDLE,
    plugins: [configCheck, configData],
    absWorkingDir: root,
    entryPoints: ['src/cli/fast-path/main.ts'],
    outfile: 'dist/fast-path/main.cjs',
    // The same code as modules: only those can be left out that nothing calls.
    alias: { yaml: join(yaml, 'browser/dist/index.js') },
    format: 'cjs',
    splitting: false,
    minifyIdentifiers: true,
    banner: {},
  });
  await compile(join(root, 'dist/fast-path/main.cjs'), 'warm-lint.cjs');
}

/** Left where they are installed, as most commands do without: reading them is what takes time. */
const SELDOM = [
  'bufferutil',
  'utf-8-validate',
  'cli-spinners',
  'minimatch',
  'tinyglobby',
  'yaml',
  '*/llhttp-wasm.js',
];

/** Asks a server, and looks at nothing of this machine unless it loads that later. */
const isOfClient = (source) =>
  /cli\/(?:connection|client-command|exec-command)\.ts'/.test(source) &&
  !/from '[^']*src\/(?:app|ops|config)\//.test(source);

/** `--local` works on this machine; bin/svc.js leaves such calls to oclif. */
const localParts = {
  name: 'local-parts',
  setup(build) {
    build.onResolve({ filter: /\/src\/(?:app|ops)\// }, ({ path, kind }) =>
      kind === 'dynamic-import' ? { path, external: true } : undefined,
    );
  },
};

/**
 * Writes dist/fast-path/client.cjs, all commands of two words that ask a server, and what oclif's manifest says of each, a file
 * for each: to read what it says of all would take a sixth of the time of one.
 */
export async function buildClientPath(root) {
  const paths = readdirSync(join(root, 'commands'), { recursive: true, encoding: 'utf8' })
    .filter(
      (path) =>
        /^[^/]+\/[^/]+\.ts$/.test(path) && isOfClient(readFileSync(join(root, 'commands', path), 'utf8')),
    )
    .sort();
  splitManifest(root, paths.map(idOf));
  await build({
    ...BUNDLE,
    plugins: [localParts, lazyRequires, undiciAgent, plainAssert, noDebug, wsClient, pureSchemas],
    absWorkingDir: root,
    stdin: { contents: clientEntry(paths), resolveDir: root, sourcefile: 'client.js' },
    outfile: 'dist/fast-path/client.cjs',
    external: BUNDLE.external.filter((name) => !/^(?:undici|ws)\b/.test(name)).concat(SELDOM),
    format: 'cjs',
    splitting: false,
    minifyIdentifiers: true,
    // Node reads all that its `performance` can do when that is used first.
    define: { 'performance.now': 'svcNow' },
    banner: { js: 'const svcNow=()=>Number(process.hrtime.bigint())/1e6;' },
  });
  await compile(join(root, 'dist/fast-path/client.cjs'), 'warm-client.cjs');
}

/** Makes the bundle ASCII, as bin/bundle.js reads it, and its code cache. V8 rejects a cache whose process ran with other flags than the one that reads it, which has been seen once. */
async function compile(bundle, warming) {
  const escaped = readFileSync(bundle, 'utf8').replace(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  writeFileSync(bundle, escaped);
  for (let attempt = 0; attempt < COMPILE_ATTEMPTS; attempt++) {
    await node(inScripts(warming), bundle);
    if (await isTaken(bundle)) return;
  }
  rmSync(`${bundle}.cache`);
  console.error(
    `Warning: V8 rejects the code cache of ${basename(bundle)}, so short commands start more slowly.`,
  );
}

/** Whether V8 takes the code cache of `bundle`. An exit code says it: output could have colors (FORCE_COLOR). */
async function isTaken(bundle) {
  const look = `process.exit(require(${JSON.stringify(inScripts('../bin/bundle.js'))}).scriptOf(${JSON.stringify(bundle)}).cachedDataRejected ? ${REJECTED} : 0)`;
  try {
    await node('-e', look);
    return true;
  } catch (error) {
    if (/** @type {{ code?: unknown }} */ (error).code === REJECTED) return false;
    throw error;
  }
}

const node = async (...args) => await promisify(execFile)(process.execPath, args, { timeout: 60_000 });
const inScripts = (name) => fileURLToPath(new URL(name, import.meta.url));

const idOf = (path) => path.slice(0, -'.ts'.length).replace('/', ':');

/** Writes dist/fast-path/TOPIC.COMMAND.json for each of the `ids`. */
function splitManifest(root, ids) {
  const { version, commands } = JSON.parse(readFileSync(join(root, 'oclif.manifest.json'), 'utf8'));
  mkdirSync(join(root, 'dist/fast-path'), { recursive: true });
  for (const id of ids) {
    const manifest = JSON.stringify({ version, commands: { [id]: commands[id] } });
    writeFileSync(join(root, `dist/fast-path/${id.replace(':', '.')}.json`), manifest);
  }
}

function clientEntry(paths) {
  const table = paths.map(
    (path) => `${JSON.stringify(idOf(path))}: () => import(${JSON.stringify(`./commands/${path}`)}),`,
  );
  return `import { runClient } from './src/cli/fast-path/client.ts';
export const main = (root, pjson, manifest) => runClient(root, pjson, manifest, {
${table.join('\n')}
});`;
}
