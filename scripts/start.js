// `npm start`: from a clean clone to a serving control plane on the embedded default, the main job shown once.
// Settings come from svc.yaml and SVC_ variables as ever; only the provider defaults to the embedded one.
import { spawn, spawnSync } from 'node:child_process';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { bootstrap, root } from './bootstrap.js';
import { startHints } from './start-hints.js';

/** Two signals within this time are one key press. */
const SAME_KEY_PRESS_MS = 500;

await bootstrap();
const cli = join(root, 'bin/svc.js');
/** @type {NodeJS.ProcessEnv} */
const env = {
  SVC_PROVIDERS_DEFAULT: 'userspace',
  SVC_LOGGING_LEVEL: 'warn',
  ...rootSettings(),
  ...process.env,
};
// The server has its own session: the terminal sends Ctrl-C to all processes in the foreground, and a second signal ends the
// server at once.
const server = spawn(process.execPath, [cli, 'serve'], {
  cwd: root,
  env,
  detached: true,
  stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
});
stopOnSignals(server);
server.on('exit', (code, signal) => process.exit(signal ? 1 : (code ?? 1)));
server.once(
  'message',
  (message) => void show(/** @type {{ address: string, database: string }} */ (message)),
);

/** One key press can arrive twice, from the terminal and from npm; a later signal ends the server at once. */
function stopOnSignals(child) {
  let sentAt = Number.NEGATIVE_INFINITY;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.on(signal, () => {
      if (performance.now() - sentAt < SAME_KEY_PRESS_MS) return;
      sentAt = performance.now();
      child.kill('SIGTERM');
    });
}

/**
 * Keeps root's database out of the system folders during a first try: it goes to the home folder, unless the configuration
 * names a path. Announces the sockets, which have to be in a system folder.
 */
function rootSettings() {
  if (process.getuid?.() !== 0) return {};
  say('Running as root: sandboxes keep their sockets in /run/svc.');
  const words = [cli, 'config', 'explain', 'database.path', '--json'];
  const { status, stdout } = spawnSync(process.execPath, words, { cwd: root, encoding: 'utf8' });
  // A configuration that cannot be read is the server's to complain about.
  const isDefault = status === 0 && JSON.parse(stdout).source === 'default';
  return isDefault ? { SVC_DATABASE_PATH: join(homedir(), '.svc/svc.db') } : {};
}

/** Spawns a sandbox, runs a command in it and destroys it, each with its time over HTTP; then what to try next. */
async function show({ address, database }) {
  const call = caller(`${address}/api/v1`);
  say(`\nServing on ${address}. Data is stored in ${dirname(database)}.\n`);
  say('One sandbox is created, used and destroyed:\n');
  try {
    const [{ id, provider, image }, createMs] = await call('POST', '/sandboxes', { ttl: '5m' });
    say(`  POST   /sandboxes             ${createMs} ms   ${id}, provider ${provider}, image ${image}`);
    const command =
      'echo "hello from $(hostname), uid $(id -u), $(ls /proc | grep -c ^[0-9]) processes in sight"';
    const [{ stdout }, execMs] = await call('POST', `/sandboxes/${id}/exec`, { command });
    say(`  POST   /sandboxes/{id}/exec   ${execMs} ms   ${stdout.trimEnd()}`);
    const [{ status }, destroyMs] = await call('DELETE', `/sandboxes/${id}`);
    say(`  DELETE /sandboxes/{id}        ${destroyMs} ms   ${status}\n`);
  } catch (error) {
    say(`\nThe demonstration failed: ${/** @type {Error} */ (error).message}\n`);
    server.kill('SIGTERM');
    return;
  }
  say('In another terminal, try:\n');
  for (const line of startHints(address)) say(`  ${line}`);
  await sayWhereRegistriesAre(call);
  say('\nCtrl-C stops the server. Sandboxes keep running until their TTL ends.');
}

/** In a network with mirrors of packages the names of registries lead to private addresses, which policies refuse by default. */
async function sayWhereRegistriesAre(call) {
  const question = { egress: { allow: ['@packages'] }, host: 'pypi.org', port: 443 };
  const [{ reason }] = await call('POST', '/egress/check', question).catch(() => [{}]);
  if (reason !== 'address_private') return;
  say(
    '\nHere pypi.org leads to a private address, such as that of a mirror. To let --allow @packages reach it, start with:',
  );
  say('  SVC_EGRESS_PRIVATE_NAMES=@packages npm start');
}

/**
 * Makes a function that resolves with the body and the duration in ms, and throws the server's error message.
 *
 * @returns {(method: string, path: string, body?: object) => Promise<[any, string]>}
 */
function caller(base) {
  const headers = {
    'content-type': 'application/json',
    ...(env.SVC_AUTH_API_KEY ? { 'x-api-key': env.SVC_AUTH_API_KEY } : {}),
  };
  return async (method, path, body) => {
    const started = performance.now();
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(base + path, {
      method,
      headers,
      signal: AbortSignal.timeout(60_000),
      ...init,
    });
    const json = /** @type {any} */ (await answer.json());
    if (!answer.ok) throw new Error(json.message);
    return [json, String(Math.round(performance.now() - started)).padStart(5)];
  };
}

function say(line) {
  process.stderr.write(`${line}\n`);
}
