// Programs of others from npm that use the SDK of E2B, unmodified. Prints one line for each case that holds. Run with the folder in
// which they are installed.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const [folder] = process.argv.slice(2);
const load = (name) => import(createRequire(join(folder, 'x.js')).resolve(name));

const programs = {
  async '@computesdk/e2b'() {
    const { e2b } = await load('@computesdk/e2b');
    const { sandbox: sandboxes } = e2b({ apiKey: process.env.E2B_API_KEY });
    const sandbox = await sandboxes.create();
    const ran = await sandbox.runCommand('echo out; echo err >&2; exit 3');
    assert.deepEqual([ran.stdout, ran.stderr, ran.exitCode], ['out\n', 'err\n', 3]);
    const { filesystem: files } = sandbox;
    await files.mkdir('/tmp/data');
    await files.writeFile('/tmp/data/hello.py', 'print("Hello")');
    assert.equal(await files.readFile('/tmp/data/hello.py'), 'print("Hello")');
    assert.deepEqual((await files.readdir('/tmp/data')).map(({ name, size }) => [name, size]), [['hello.py', 14]]);
    assert.equal((await sandbox.runCommand('python /tmp/data/hello.py')).stdout, 'Hello\n');
    await files.remove('/tmp/data');
    assert.equal(await files.exists('/tmp/data'), false);
    assert.equal((await sandbox.getInfo()).status, 'running');
    await sandbox.destroy();
  },
  async '@mastra/e2b'() {
    const { E2BSandbox } = await load('@mastra/e2b');
    const sandbox = new E2BSandbox({ id: 'mastra-1', template: 'base', timeout: 60_000, env: { GIVEN: 'yes' } });
    await sandbox.start();
    const ran = await sandbox.executeCommand('sh', ['-c', 'echo "$GIVEN"']);
    assert.deepEqual([ran.stdout, ran.exitCode], ['yes\n', 0]);
    assert.equal((await sandbox.executeCommand('sh', ['-c', 'exit 2'])).exitCode, 2);
    assert.equal((await sandbox.getInfo()).status, 'running');
    const spawned = await sandbox.processes.spawn('read -r line; echo "got $line"; sleep 100');
    await spawned.sendStdin('hello\n');
    while (!spawned.stdout.includes('got hello')) await new Promise((resolve) => setTimeout(resolve, 20));
    assert.ok((await sandbox.processes.list()).some(({ pid }) => pid === spawned.pid));
    assert.equal(await spawned.kill(), true);
    const again = new E2BSandbox({ id: 'mastra-1', template: 'base', timeout: 60_000 });
    await again.start();
    assert.equal((await again.executeCommand('echo', ['same'])).stdout, 'same\n');
    await again.destroy();
  },
  async 'ez-devbox'() {
    const { e2b } = await load('@computesdk/e2b');
    const made = await e2b({ apiKey: process.env.E2B_API_KEY }).sandbox.create();
    // Where it would clone projects.
    await made.runCommand('mkdir -p /home/user/projects/workspace');
    const home = mkdtempSync(join(tmpdir(), 'ez-devbox-'));
    writeFileSync(join(home, 'ez-devbox.config.toml'), '[sandbox]\ntemplate = "base"\n');
    const cli = join(folder, 'node_modules/ez-devbox/dist/src/cli/index.js');
    const ez = async (...args) => {
      const env = { ...process.env, HOME: home };
      return (await run(process.execPath, [cli, ...args], { cwd: home, env })).stdout;
    };
    const ids = async () => JSON.parse(await ez('list', '--json')).sandboxes.map(({ sandboxId }) => sandboxId);
    assert.ok((await ids()).includes(made.sandboxId));
    const ran = JSON.parse(await ez('command', '--json', '--sandbox-id', made.sandboxId, '--', 'echo', 'from ez'));
    assert.match(JSON.stringify(ran), /from ez/);
    await ez('wipe', '--sandbox-id', made.sandboxId);
    assert.ok(!(await ids()).includes(made.sandboxId));
    rmSync(home, { recursive: true });
  },
};

for (const [name, program] of Object.entries(programs)) {
  await program();
  console.log(`held ${name}`);
}
process.exit(0);
