// A session like that of a notebook: one interpreter stays in the sandbox, so that cells share their variables.
import { Client } from '@svc-sandbox/client';

/** Reads a cell as one line of JSON, runs it, and answers with its output as one line of JSON. */
const KERNEL = `
import contextlib, io, json, sys, traceback
scope = {}
for line in sys.stdin:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(json.loads(line), "cell", "exec"), scope)
        except Exception:
            out.write(traceback.format_exc(limit=0))
    print(json.dumps(out.getvalue()), flush=True)
`;

const client = new Client({
  server: process.env.SVC_SERVER ?? 'http://127.0.0.1:7423',
  apiKey: process.env.SVC_API_KEY ?? '',
});
await using sandbox = await client.create({ ttl: '10m' });
await sandbox.files.write('/workspace/kernel.py', KERNEL);
const kernel = await sandbox.open('exec python3 /workspace/kernel.py');
const events = kernel.events();

let rest = '';
/** The output of one cell. */
async function cell(code: string): Promise<string> {
  await kernel.write(`${JSON.stringify(code)}\n`);
  for (;;) {
    const end = rest.indexOf('\n');
    if (end >= 0) {
      const line = rest.slice(0, end);
      rest = rest.slice(end + 1);
      return JSON.parse(line);
    }
    const { value: event } = await events.next();
    if (event?.type === 'exit' || !event) throw new Error('The interpreter ended.');
    if (event.type === 'stdout') rest += event.data.toString();
  }
}

await cell('import math\nradius = 2');
process.stdout.write(await cell('print(round(math.pi * radius ** 2, 2))'));
process.stdout.write(await cell('1 / 0'));
process.stdout.write(await cell('print("radius is still", radius)'));
kernel.close();
