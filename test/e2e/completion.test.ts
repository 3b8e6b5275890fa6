// Completion as a person has it: what `svc autocomplete` writes, asked by a real bash and typed into a real zsh. There is no
// PowerShell in Debian; of its script only the names are looked at.
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { removeFolder } from '../support/remove.ts';
import { describeWith } from '../support/requires.ts';
import { runCli } from '../support/servers/run-cli.ts';
import { cli, removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const run = promisify(execFile);

const ASK = `
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=\${#COMP_LINE}
_svc_autocomplete; printf '%s\\n' "\${COMPREPLY[@]}"
`;

describeWith(['tmux', 'zsh'], 'completion', () => {
  let home: string;
  const functions = (file: string) => join(home, '.cache/svc/autocomplete/functions', file);

  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'svc-test-'));
    const { code, stderr } = await runCli(['autocomplete', '--refresh-cache'], { HOME: home });
    expect(code, stderr).toBe(0);
  });
  afterAll(() => removeFolder(home));

  it.each([
    [['sandbox', 'cr'], ['create']],
    [
      ['config', ''],
      ['explain', 'init', 'lint', 'schema', 'show'],
    ],
    [['config', 'lint', '--stri'], ['--strict']],
    [['sandbox', 'nothing'], ['']],
  ])('in bash: %j', async (words, expected) => {
    const { stdout } = await run('bash', ['-c', ASK, 'ask', functions('bash/svc.bash'), 'svc', ...words]);
    expect(stdout.replace(/\n$/, '').split('\n')).toEqual(expected);
  });

  it('in zsh, by the tab key', async () => {
    mkdirSync(join(home, 'bin'));
    symlinkSync(cli, join(home, 'bin/svc'));
    const lines = [`fpath=(${functions('zsh')} $fpath)`, `PATH=${home}/bin:$PATH`, "PS1='> '"];
    writeFileSync(join(home, '.zshrc'), `${lines.join('\n')}\nautoload -Uz compinit\ncompinit -u -D\n`);
    const tmux = (...args: string[]) =>
      execFileSync('tmux', ['-S', join(home, 'tmux'), '-f', '/dev/null', ...args], { encoding: 'utf8' });
    const shows = (what: string) =>
      until(`the screen to show ${what}`, () => tmux('capture-pane', '-p').includes(what));
    tmux('new-session', '-d', '-x', '80', '-y', '24', `HOME=${home} ZDOTDIR=${home} zsh -d -i`);
    try {
      await shows('>');
      tmux('send-keys', 'svc sandbox cre', 'Tab');
      await shows('svc sandbox create');
      tmux('send-keys', '--', '--ima', 'Tab');
      await shows('--image');
    } finally {
      tmux('kill-server');
    }
  });

  it('names the commands for PowerShell', () => {
    const script = readFileSync(functions('powershell/svc.ps1'), 'utf8');
    for (const name of ['create', 'lint', 'backup']) expect(script).toContain(`"${name}"`);
  });
});

describeWith(['unshare', 'tmux', 'zsh', 'fish'], 'completion of names that the server knows', () => {
  let server: TestServer;
  let home: string;
  let id: string;
  let env: Record<string, string>;

  beforeAll(async () => {
    server = await startServer({ env: { SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare' } });
    home = mkdtempSync(join(tmpdir(), 'svc-test-'));
    mkdirSync(join(home, 'bin'));
    symlinkSync(cli, join(home, 'bin/svc'));
    env = { HOME: home, PATH: `${home}/bin:${process.env.PATH}`, SVC_SERVER: server.url };
    const made = await runCli(['sandbox', 'create', '--json'], env);
    id = (JSON.parse(made.stdout) as { id: string }).id;
    const template = await runCli(['template', 'create', 'python', '--image', 'python:3.12'], env);
    expect(template.code, template.stderr).toBe(0);
  });
  afterAll(async () => {
    await server.stop();
    removeHome(server.home);
    removeFolder(home);
  });

  const shell = async (program: string, args: readonly string[], more: Record<string, string> = {}) =>
    (await run(program, [...args], { env: { ...env, ...more } })).stdout
      .split('\n')
      .filter((line) => line !== '');
  const bash = (words: readonly string[], more?: Record<string, string>) => {
    const ask = `source <(svc completion bash)
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _svc_completion; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return shell('bash', ['-c', ask, 'ask', ...words], more);
  };

  it('in bash', async () => {
    expect(await bash(['svc', 'sandbox', 'get', 'sb-'])).toEqual([id]);
    expect(await bash(['svc', 'sandbox', 'create', '--template', ''])).toEqual(['python']);
    expect(await bash(['svc', 'sandbox', 'list', '--state', '=', 'run'])).toEqual(['running']);
    expect(await bash(['svc', 'config', 'ex'])).toEqual(['explain']);
  });

  it('in bash, by the tab key', async () => {
    const lines = ['source <(svc completion bash)', "PS1='> '"];
    writeFileSync(join(home, '.bashrc'), lines.join('\n'));
    await typed('bash', `${id.slice(0, 6)}`);
  });

  it('in zsh, by the tab key', async () => {
    const lines = ["PS1='> '", 'autoload -Uz compinit', 'compinit -u -D', 'source <(svc completion zsh)'];
    writeFileSync(join(home, '.zshrc'), lines.join('\n'));
    await typed(`ZDOTDIR=${home} zsh -d -i`, `${id.slice(0, 6)}`);
  });

  it('in fish', async () => {
    const ask = (line: string) =>
      shell('fish', [
        '--no-config',
        '-c',
        `svc completion fish | source; complete -C ${JSON.stringify(line)}`,
      ]);
    expect(await ask('svc sandbox get sb-')).toEqual([id]);
    expect(await ask('svc template get ')).toContain('python');
    expect(await ask('svc sandbox list --state=run')).toEqual(['--state=running']);
  });

  it('suggests nothing, without a long wait, when the server is unreachable', async () => {
    expect(await bash(['svc', 'sandbox', 'get', ''], { SVC_SERVER: 'http://127.0.0.1:9' })).toEqual([]);
    const silent = createServer();
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const start = performance.now();
    const asked = await runCli(['completion', 'suggest', '--', 'sandbox', 'get', ''], { SVC_SERVER: url });
    expect(asked).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(performance.now() - start).toBeLessThan(5_000);
    silent.close();
  });

  /** Types a command up to `prefix` of the sandbox's id and presses the tab key. */
  async function typed(program: string, prefix: string): Promise<void> {
    const tmux = (...args: string[]) =>
      execFileSync('tmux', ['-S', join(home, `tmux-${program.slice(0, 4)}`), '-f', '/dev/null', ...args], {
        encoding: 'utf8',
        env,
      });
    const shows = (what: string) =>
      until(`the screen to show ${what}`, () => tmux('capture-pane', '-p').includes(what));
    tmux('new-session', '-d', '-x', '80', '-y', '24', program);
    try {
      await shows('>');
      tmux('send-keys', `svc sandbox get ${prefix}`, 'Tab');
      await shows(`svc sandbox get ${id}`);
    } finally {
      tmux('kill-server');
    }
  }
});
