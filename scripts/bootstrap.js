// Brings a clean clone to a built state: packages, TypeScript, agent. Does only what is missing or stale.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));
const INPUTS = [
  ...['package.json', 'package-lock.json', 'tsconfig.json'],
  ...['agent', 'bench', 'commands', 'console', 'scripts', 'src', 'test/support/memory-store'],
];

/** How often a long step says what it does at the moment. */
const PROGRESS_MS = 10_000;

/** Installs and builds when needed; prints what it does, and every ten seconds how far it is. Exits with 1 when a step fails. */
export async function bootstrap() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19))
    fail(`svc needs Node 20.19 or newer; this is ${process.version}.`);
  // The lock holds all of package.json that says what to install.
  const lock = digest(['package-lock.json']);
  if (stamp('node_modules/.svc-lock') !== lock) {
    // After an update of the lock, what is installed stays: `ci` would compile the database driver again.
    const how = stamp('node_modules/.svc-lock') === undefined ? 'ci' : 'install';
    const install = [how, '--no-audit', '--no-fund', '--no-progress', '--loglevel=error'];
    await step('Installing packages', 'npm', install, installing);
    writeFileSync(join(root, 'node_modules/.svc-lock'), lock);
  }
  const sources = digest(INPUTS);
  if (stamp('dist/.svc-sources') !== sources) {
    await step('Building', process.execPath, ['scripts/build.js']);
    mkdirSync(join(root, 'dist'), { recursive: true });
    writeFileSync(join(root, 'dist/.svc-sources'), sources);
  }
}

/**
 * Runs one command; `doing` describes what the process `pid` and its children do at the moment.
 *
 * @param {string} title
 * @param {string} command
 * @param {string[]} args
 * @param {(pid: number | undefined) => string} doing
 */
async function step(title, command, args, doing = () => '') {
  const started = performance.now();
  const elapsed = () => `${((performance.now() - started) / 1000).toFixed(1)} s`;
  process.stderr.write(`${title} …\n`);
  const child = spawn(command, args, { cwd: root, env: buildEnv(), stdio: ['ignore', 2, 2] });
  const progress = setInterval(() => {
    process.stderr.write(`${title}: ${doing(child.pid) || 'running'}, ${elapsed()}\n`);
  }, PROGRESS_MS);
  const status = await new Promise((resolve) => {
    child.once('error', () => resolve(undefined)).once('close', resolve);
  });
  clearInterval(progress);
  if (status !== 0) fail(`${title} failed. The lines above say why.`);
  process.stderr.write(`${title}: done in ${elapsed()}\n`);
}

/** A compiler runs only where no prebuilt binary of a native package could be downloaded for this Node and machine. */
function installing(pid) {
  const compiling = descendants(pid).some((name) => /^(cc1plus|cc1|g\+\+|c\+\+|make|node-gyp)$/.test(name));
  return compiling ? 'compiling better-sqlite3 (no prebuilt binary was found)' : 'downloading and unpacking';
}

/** Names of the processes below `pid` (proc(5)); none where /proc cannot be read. */
function descendants(pid) {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
    return children.flatMap((child) => [
      readFileSync(`/proc/${child}/comm`, 'utf8').trim(),
      ...descendants(child),
    ]);
  } catch {
    return [];
  }
}

/** Native packages are built against the headers that came with this Node, where they are: nothing is fetched for it. */
function buildEnv() {
  const nodedir = dirname(dirname(process.execPath));
  const headers = existsSync(join(nodedir, 'include/node/node_api.h')) ? { npm_config_nodedir: nodedir } : {};
  return { npm_config_update_notifier: 'false', ...headers, ...process.env };
}

function fail(message) {
  process.stderr.write(`svc: ${message}\n`);
  process.exit(1);
}

function stamp(file) {
  const path = join(root, file);
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}

/** A hash of names and contents of all files under `paths`, build output left out. */
function digest(paths) {
  const hash = createHash('sha256').update(process.version);
  for (const path of paths)
    for (const file of files(path)) hash.update(file).update(readFileSync(join(root, file)));
  return hash.digest('hex');
}

function files(path) {
  if (!existsSync(join(root, path))) return [];
  if (!path.includes('.') || path.startsWith('.')) {
    return readdirSync(join(root, path), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !/agent\/build/.test(entry.parentPath ?? entry.path))
      .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(root.length))
      .sort();
  }
  return [path];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bootstrap();
