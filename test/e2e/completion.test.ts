// Completion as a person has it: what `svc autocomplete` writes, asked by a real bash and typed into a real zsh. There is no
// PowerShell in Debian; of its script only the names are looked at.
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { removeFolder } from '../support/remove.ts';
import { describeWith } from '../support/requires.ts';
import { runCli } from '../support/servers/run-cli.ts';
import { cli } from '../support/servers/server.ts';
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

  it('in zsh, by the tabulator', async () => {
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
