// What the programs of `npm run` answer to wrong options: one line, a next step, before anything is built or run.
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../..', import.meta.url));

function run(program: string, ...args: string[]) {
  return execa(process.execPath, [`scripts/${program}.js`, ...args], { cwd: root, reject: false });
}

describe('the options of programs run by hand', () => {
  it.each(['bench', 'fuzz', 'proof', 'soak'])('are all listed by the help of %s', async (program) => {
    const { exitCode, stdout } = await run(program, '--help');
    expect(exitCode).toBe(0);
    expect(stdout).toContain(`npm run ${program} -- [options]`);
  });

  it.each([
    ['soak', '--provider', 'docker', '--provider is one of userspace, container; not "docker".'],
    ['proof', '--only', 'points,all', 'not "all"'],
    ['fuzz', '--runs', '0', '--runs is a number above 0, not "0".'],
    ['soak', '--minutes', 'ten', '--minutes is a number above 0, not "ten".'],
    ['bench', '--onyl', 'P8', "Unknown option '--onyl'"],
  ])('refuse %s %s %s', async (program, option, value, said) => {
    const { exitCode, stderr, stdout } = await run(program, option, value);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain(said);
    expect(stderr.split('\n')[1]).toBe(`npm run ${program} -- --help lists the options.`);
  });
});
