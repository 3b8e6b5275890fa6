// A CI runner: steps in order, output as it comes, the artifact of a build that passes, and an exit code.
import { Client, ServiceError } from '@svc-sandbox/client';

const SOURCES = {
  'app.py': 'def double(x):\n    return 2 * x\n',
  'test_app.py': 'import app\nassert app.double(2) == 4\nprint("1 test passed")\n',
};
const STEPS = [
  { name: 'test', command: 'python3 test_app.py', timeout: '30s' },
  { name: 'package', command: 'tar czf app.tar.gz *.py && echo packaged', timeout: '30s' },
];

const client = new Client({
  server: process.env.SVC_SERVER ?? 'http://127.0.0.1:7423',
  apiKey: process.env.SVC_API_KEY ?? '',
});
await using sandbox = await client.create({ ttl: '10m', metadata: { job: 'example' } });
for (const [name, text] of Object.entries(SOURCES)) await sandbox.files.write(`/workspace/${name}`, text);

/** The exit code; a step that reaches its timeout has 124, as with `timeout`. */
async function run(command: string, timeout: string): Promise<number> {
  for await (const line of sandbox.stream(command, { workdir: '/workspace', timeout })) {
    if (line.stream === 'stdout') process.stdout.write(line.data);
    if (line.stream === 'stderr') process.stderr.write(line.data);
    if (line.stream === 'exit') return line.timed_out ? 124 : line.exit_code;
    if (line.stream === 'error') throw new ServiceError('internal', line.message);
  }
  throw new Error('The output ended without an exit line.');
}

for (const { name, command, timeout } of STEPS) {
  console.log(`== ${name}`);
  process.exitCode = await run(command, timeout);
  if (process.exitCode !== 0) break;
}
if (process.exitCode === 0) {
  const { size } = await sandbox.files.stat('/workspace/app.tar.gz');
  console.log(`artifact: ${size > 0 ? 'app.tar.gz' : 'empty'}`);
}
