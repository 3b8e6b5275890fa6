// `npm start`: from a clean clone to a serving control plane on the embedded default, the main job shown once.
// Settings come from svc.yaml and SVC_ variables as ever; only the provider defaults to the embedded one.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { bootstrap, root } from './bootstrap.js';
import { nextSteps } from './next-steps.js';

bootstrap();
const cli = join(root, 'bin/svc.js');
const env = { SVC_PROVIDERS_DEFAULT: 'userspace', SVC_LOGGING_LEVEL: 'warn', ...process.env };
const server = spawn(process.execPath, [cli, 'serve'], {
  cwd: root,
  env,
  stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => server.kill(signal));
server.on('exit', (code, signal) => process.exit(signal ? 1 : (code ?? 1)));
server.once('message', ({ address }) => void show(address));

/** Spawns a sandbox, runs a command in it and destroys it, each with its time over HTTP; then what to try next. */
async function show(address) {
  const call = caller(`${address}/api/v1`);
  say(`\nServing on ${address}. One sandbox, from nothing to nothing:\n`);
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
    say(`\nThe sandbox could not be shown: ${error.message}\n`);
    server.kill('SIGTERM');
    return;
  }
  say('In another terminal, try:\n');
  for (const line of nextSteps(address)) say(`  ${line}`);
  say('\nCtrl-C stops the server; sandboxes live on until their time ends.');
}

/** Calls that resolve with the body and the whole ms they took, and throw what the server says is wrong. */
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
    const json = await answer.json();
    if (!answer.ok) throw new Error(json.message);
    return [json, String(Math.round(performance.now() - started)).padStart(5)];
  };
}

function say(line) {
  process.stderr.write(`${line}\n`);
}
