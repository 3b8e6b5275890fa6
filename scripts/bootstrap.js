// Brings a clean clone to a built state: packages, TypeScript, agent. Does only what is missing or stale.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));
const INPUTS = ['package.json', 'package-lock.json', 'tsconfig.json', 'agent', 'commands', 'src', 'scripts'];

/** Installs and builds when needed; prints one line a step. Exits with the step's status when it fails. */
export function bootstrap() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19))
    fail(`svc needs Node 20.19 or newer; this is ${process.version}.`);
  // The lock holds all of package.json that says what to install.
  const lock = digest(['package-lock.json']);
  if (stamp('node_modules/.svc-lock') !== lock) {
    step('Installing packages', 'npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error']);
    writeFileSync(join(root, 'node_modules/.svc-lock'), lock);
  }
  const sources = digest(INPUTS);
  if (stamp('dist/.svc-sources') !== sources) {
    step('Building', process.execPath, ['scripts/build.js']);
    mkdirSync(join(root, 'dist'), { recursive: true });
    writeFileSync(join(root, 'dist/.svc-sources'), sources);
  }
}

function step(title, command, args) {
  const started = process.hrtime.bigint();
  process.stderr.write(`${title} …\n`);
  const { status, error } = spawnSync(command, args, { cwd: root, env: buildEnv(), stdio: ['ignore', 2, 2] });
  if (error || status !== 0) fail(`${title} failed. The lines above say why.`);
  process.stderr.write(
    `${title}: done in ${Number((process.hrtime.bigint() - started) / 100_000_000n) / 10} s\n`,
  );
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

if (process.argv[1] === fileURLToPath(import.meta.url)) bootstrap();
