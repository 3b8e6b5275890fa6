// The code interpreter through the newest unmodified SDKs of E2B, through our client, and against sandboxes that misbehave.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Sandbox } from '@e2b/code-interpreter';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Client } from '../../src/client/client.ts';
import type { Runtime } from '../support/hosts/matrix.ts';
import { describeWith, itWith, type Need } from '../support/requires.ts';
import { packageRoot, removeHome, startServer, type TestServer } from '../support/servers/server.ts';

const run = promisify(execFile);
/** A kernel starts on a machine that is busy. */
const LATER = { timeout: 90_000 };

const programs = ({ env, ordinaryUser, onWorker }: Runtime) => {
  let server: TestServer;
  let sandbox: Sandbox;
  let client: Client;

  beforeAll(async () => {
    server = await startServer({ env, ordinaryUser, onWorker });
    client = new Client({ server: server.url });
    const options = { apiKey: 'e2b_0', apiUrl: server.url, sandboxUrl: server.url };
    sandbox = await Sandbox.create({ ...options, envs: { GIVEN: 'yes' } });
  });
  afterAll(async () => {
    await sandbox.kill();
    await client.close();
    await server.stop();
    removeHome(server.home);
  });

  it('runs code that keeps its values, and tells errors', LATER, async () => {
    const lines: string[] = [];
    const first = await sandbox.runCode(
      'import os\nx = 1\nprint(os.environ["GIVEN"], os.environ["E2B_SANDBOX"])\nx',
      {
        onStdout: ({ line }) => {
          lines.push(line);
        },
      },
    );
    expect([first.text, lines, first.executionCount]).toEqual(['1', ['yes true\n'], 1]);
    expect((await sandbox.runCode('x + 1')).text).toBe('2');
    const failed = await sandbox.runCode('1 / 0');
    expect(failed.error).toMatchObject({ name: 'ZeroDivisionError', value: 'division by zero' });
    const own = await sandbox.runCode('os.environ["OWN"]', { envs: { OWN: 'a b' } });
    expect([own.text, (await sandbox.runCode('os.environ.get("OWN")')).text]).toEqual(['a b', undefined]);
    expect((await sandbox.runCode('!echo $GIVEN')).logs.stdout.join('').trim()).toBe('yes');
    expect((await sandbox.runCode('await __import__("asyncio").sleep(0, 7)')).text).toBe('7');
  });

  it('shows images, charts, tables, HTML and JSON', LATER, async () => {
    const [shown] = (
      await sandbox.runCode(
        'import matplotlib.pyplot as plt\nplt.plot([1, 2], [3, 4], label="a")\nplt.xlabel("Time (s)")\nplt.title("T")\nplt.show()',
      )
    ).results;
    expect(
      Buffer.from(shown?.png ?? '', 'base64')
        .subarray(1, 4)
        .toString(),
    ).toBe('PNG');
    expect(shown?.chart).toMatchObject({
      ...{ type: 'line', title: 'T', x_label: 'Time (s)', x_unit: 's', x_scale: 'linear' },
      elements: [
        {
          label: 'a',
          points: [
            [1, 3],
            [2, 4],
          ],
        },
      ],
    });
    const bars = await sandbox.runCode('plt.bar(["a", "b"], [4, 5], label="g")\nplt.show()');
    expect(bars.results[0]?.chart).toMatchObject({
      type: 'bar',
      elements: [
        { label: 'a', group: 'g', value: 4 },
        { label: 'b', group: 'g', value: 5 },
      ],
    });
    const table = await sandbox.runCode('import pandas as pd\npd.DataFrame({"a": [1, 2]})');
    expect([table.results[0]?.data, table.results[0]?.html?.includes('<table')]).toEqual([
      { a: [1, 2] },
      true,
    ]);
    expect((await sandbox.runCode('{"a": [1]}')).results[0]?.json).toEqual({ a: [1] });
    const two = await sandbox.runCode(
      'from IPython.display import HTML, display\ndisplay(HTML("<b>x</b>"))\n"y"',
    );
    expect(two.results.map(({ html, text, isMainResult }) => [html ?? text, isMainResult])).toEqual([
      ['<b>x</b>', false],
      ['y', true],
    ]);
  });

  it('has contexts, and other languages', LATER, async () => {
    const context = await sandbox.createCodeContext({ cwd: '/tmp' });
    expect((await sandbox.runCode('import os; os.getcwd()', { context })).text).toBe('/tmp');
    await sandbox.restartCodeContext(context);
    expect((await sandbox.runCode('os', { context })).error?.name).toBe('NameError');
    expect((await sandbox.listCodeContexts()).at(-1)?.id).toBe(context.id);
    await sandbox.removeCodeContext(context);
    const gone = sandbox.runCode('1', { context });
    await expect(gone).rejects.toThrow(`Context ${context.id} not found`);
    const bash = (code: string) => sandbox.runCode(code, { language: 'bash' });
    await bash('cd /tmp; A=5');
    const { logs } = await bash('echo "$A $PWD"; echo problem >&2');
    expect(logs).toEqual({ stdout: ['5 /tmp\n'], stderr: ['problem\n'] });
    // The host's programs may lack Node.
    if ((await sandbox.commands.run('command -v node || true')).stdout !== '') {
      const script = (code: string) => sandbox.runCode(code, { language: 'js' });
      expect((await script('const a = await Promise.resolve(5)\n;[a, 6]')).results[0]?.json).toEqual([5, 6]);
      expect((await script('throw new TypeError("no")')).error).toMatchObject({
        name: 'TypeError',
        value: 'no',
      });
    }
    await expect(sandbox.runCode('1', { language: 'r' })).rejects.toThrow('400');
  });

  it('interrupts code whose client has left, and goes on after a kernel that ended', LATER, async () => {
    await sandbox.runCode('kept = 3');
    await expect(sandbox.runCode('while True: pass', { timeoutMs: 500 })).rejects.toThrow('timed out');
    expect((await sandbox.runCode('kept')).text).toBe('3');
    expect((await sandbox.runCode('os._exit(1)')).error?.name).toBe('UnexpectedEndOfExecution');
    expect((await sandbox.runCode('1')).text).toBe('1');
  });

  it('does the same through our own client', LATER, async () => {
    const own = client.sandbox(sandbox.sandboxId).code;
    const context = await own.createContext({ language: 'python' });
    const options = { context_id: context.id };
    expect(await own.run('a = 20; print("out"); a + 1', options)).toEqual({
      ...{ results: [{ is_main_result: true, text: '21' }], stdout: 'out\n', stderr: '', execution_count: 1 },
    });
    const types: string[] = [];
    for await (const { type } of own.stream('print(a); 1/0', options)) types.push(type);
    expect(types).toEqual(['number_of_executions', 'stdout', 'error', 'end_of_execution']);
    await expect(own.run('while True: pass', { ...options, timeout: '500ms' })).rejects.toMatchObject({
      code: 'timeout',
    });
    expect((await own.run('a', options)).results[0]?.text).toBe('20');
    await own.restartContext(context.id);
    expect((await own.run('a', options)).error?.name).toBe('NameError');
    await own.removeContext(context.id);
    await expect(own.run('a', options)).rejects.toMatchObject({ code: 'not_found' });
    expect((await own.contexts()).map(({ language }) => language)).toContain('python');
  });

  it('does not trust what a sandbox answers on the port', LATER, async () => {
    const other = await client.create();
    const answer = 'HTTP/1.1 200 OK\\r\\n\\r\\n{"type":"result","text":7}\\n';
    const liar = `import socket\ns = socket.create_server(("127.0.0.1", 49999))\nwhile True:\n  c, _ = s.accept(); c.recv(9999); c.sendall(b'${answer}'); c.close()`;
    await other.execs.detach({ command: 'python3', mode: 'argv', args: ['-c', liar] });
    await other.exec('bash', {
      mode: 'argv',
      args: ['-c', 'until (: </dev/tcp/127.0.0.1/49999) 2>/dev/null; do sleep 0.1; done'],
    });
    await expect(other.code.run('1')).rejects.toMatchObject({ code: 'provider_error' });
    await other.destroy();
  });

  itWith(['e2b-python'], 'serves the Python SDKs', async () => {
    const python = join(packageRoot, '.cache/e2b-python/bin/python');
    const address = { E2B_API_URL: server.url, E2B_SANDBOX_URL: server.url, E2B_API_KEY: 'e2b_0' };
    const given = { PATH: process.env.PATH, NO_PROXY: '127.0.0.1,localhost', ...address };
    const { stdout } = await run(python, [join(packageRoot, 'test/e2e/e2b-code.py')], { env: given });
    const kinds = ['sync', 'async'];
    const cases = ['values', 'results', 'contexts', 'interrupts'];
    expect(stdout.trim().split('\n')).toEqual(kinds.flatMap((kind) => cases.map((one) => `${kind} ${one}`)));
  });
};

const RUNTIMES: [name: string, needs: Need[], runtime: Runtime][] = [
  ['bwrap, root', ['bwrap', 'root'], { runner: 'bwrap', ordinaryUser: false, env: {} }],
  ['unshare, an ordinary user', ['unshare'], { runner: 'unshare', ordinaryUser: true, env: {} }],
  ['on a worker', ['bwrap', 'root'], { runner: 'bwrap', ordinaryUser: false, env: {}, onWorker: true }],
];
for (const [name, needs, runtime] of RUNTIMES)
  describeWith([...needs, 'ipykernel'], `the code interpreter [${name}]`, () =>
    programs({ ...runtime, env: { SVC_PROVIDERS_USERSPACE_RUNNER: runtime.runner } }),
  );
