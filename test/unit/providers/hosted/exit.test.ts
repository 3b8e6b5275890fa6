// How commands of a hosted sandbox end, from the words of Go.
import { describe, expect, it } from 'vitest';
import { exitOf } from '../../../../src/providers/hosted/exit.ts';

describe('the end of a hosted command', () => {
  it.each([
    ['signal: killed', 137, 'SIGKILL'],
    ['signal: segmentation fault (core dumped)', 139, 'SIGSEGV'],
    ['signal: bad system call (core dumped)', 159, 'SIGSYS'],
    ['signal: CPU time limit exceeded', 152, 'SIGXCPU'],
    ['signal: file size limit exceeded', 153, 'SIGXFSZ'],
    ['signal: virtual timer expired', 154, 'SIGVTALRM'],
    ['signal: stopped (signal)', 147, 'SIGSTOP'],
    ['signal: signal 34', 162, 'SIGRTMIN+0'],
    ['signal: signal 64', 192, 'SIGRTMIN+30'],
  ])('%s', (error, exit_code, signal) => {
    expect(exitOf({ exitCode: -1, error })).toEqual({ exit_code, signal, timed_out: false });
  });

  it.each([
    ...[
      'signal: signal 65',
      'signal: signal 0',
      'signal: toString',
      'signal: killed\n',
      'killed',
      '',
      undefined,
    ],
    ...[null, 7, {}, 'waitid: no child processes', `signal: ${' '.repeat(1 << 20)}`],
  ])('is a failure where no signal is known: %j', (error) => {
    expect(exitOf({ exitCode: -1, error })).toEqual({ exit_code: 255, timed_out: false });
  });

  it('is the exit code of the program, and undefined without one', () => {
    expect(exitOf({ exitCode: 3, error: 'exit status 3' })).toEqual({ exit_code: 3, timed_out: false });
    for (const said of [undefined, null, 'x', {}, { exitCode: '1' }, { exitCode: -2 }, { exitCode: 256 }])
      expect(exitOf(said)).toBeUndefined();
  });
});
