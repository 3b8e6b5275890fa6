// `npm start`: from a clean clone to a serving control plane on the embedded default, the main job shown once.
// Settings come from svc.yaml and SVC_ variables as ever; only the provider defaults to the embedded one.
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { bootstrap, root } from './bootstrap.js';

bootstrap();
const cli = join(root, 'bin/svc.js');
const env = { SVC_PROVIDERS_DEFAULT: 'userspace', ...process.env };
const server = spawn(process.execPath, [cli, 'serve'], {
  cwd: root,
  env,
  stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => server.kill(signal));
server.on('exit', (code, signal) => process.exit(signal ? 1 : (code ?? 1)));
server.once('message', ({ address }) => show(address));

/** Spawns a sandbox, runs a command in it and destroys it, each with its time; then what to try next. */
function show(address) {
  const target = { ...env, SVC_SERVER: address };
  say('\nOne sandbox, from nothing to nothing:\n');
  const [created, createMs] = svc(['sandbox', 'create', '--json'], target);
  const { id, provider, image } = JSON.parse(created);
  say(`  sandbox create   ${createMs} ms   ${id} (${provider}, image ${image})`);
  const [output, execMs] = svc(
    [
      'sandbox',
      'exec',
      id,
      '--shell',
      '--',
      'echo "hello from $(hostname), process $$ of few"; id -u; df -h /workspace | tail -1',
    ],
    target,
  );
  say(
    `  sandbox exec     ${execMs} ms   ${output
      .trimEnd()
      .split('\n')
      .join(`\n${' '.repeat(28)}`)}`,
  );
  const [, destroyMs] = svc(['sandbox', 'destroy', id], target);
  say(`  sandbox destroy  ${destroyMs} ms   gone`);
  say('  (each time includes starting this command line, about 0.2 s)\n');
  say('Serving. In another terminal, try:\n');
  say(
    `  ${process.platform === 'win32' ? 'node bin/svc.js' : './bin/svc.js'} sandbox run -- python3 -c 'print(6 * 7)'`,
  );
  say('  ./bin/svc.js sandbox create');
  say('  ./bin/svc.js sandbox list');
  say(`  curl -s ${address}/api/v1/sandboxes -H 'content-type: application/json' -d '{"ttl":"5m"}'\n`);
  say('Ctrl-C stops the server; sandboxes live on until their time ends.');
}

function svc(args, target) {
  const started = performance.now();
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, ...args], {
    cwd: root,
    env: target,
    encoding: 'utf8',
  });
  if (status !== 0) {
    say(`svc ${args.join(' ')} failed:\n${stderr}`);
    server.kill('SIGTERM');
  }
  return [stdout, Math.round(performance.now() - started)];
}

function say(line) {
  process.stderr.write(`${line}\n`);
}
