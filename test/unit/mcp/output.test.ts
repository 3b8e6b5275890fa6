// Results of tools have a bound, say what is missing, and hold nothing of a cause.
import { expect, it } from 'vitest';
import { ServiceError } from '../../../src/domain/errors.ts';
import {
  CommandOutput,
  cut,
  failureResult,
  HeadAndTail,
  MOST_TEXT,
  recordResult,
} from '../../../src/mcp/output.ts';

it('keeps begin and end of a text in pieces, whatever their size', () => {
  const text = Array.from({ length: 300 }, (_, line) => `line ${line}`).join('\n');
  for (const size of [1, 7, 64, 5000]) {
    const kept = new HeadAndTail(200);
    for (let at = 0; at < text.length; at += size) kept.add(text.slice(at, at + size));
    const note = `\n[${text.length - 200} characters are not shown]\n`;
    expect(kept.text).toBe(text.slice(0, 100) + note + text.slice(-100));
    expect(kept.missing).toBe(text.length - 200);
  }
  const short = new HeadAndTail(200);
  short.add(text.slice(0, 150));
  expect(short.text).toBe(text.slice(0, 150));
});

it('cuts long texts, and then leaves the object out', () => {
  expect(cut('x'.repeat(MOST_TEXT))).toHaveLength(MOST_TEXT);
  const { content, structuredContent } = recordResult({ a: 'x'.repeat(2 * MOST_TEXT) });
  const [block] = content;
  expect(block?.type === 'text' && block.text.length).toBeLessThan(MOST_TEXT);
  expect(block).toMatchObject({ text: expect.stringContaining('more characters are not shown') });
  expect(structuredContent).toBeUndefined();
});

it('tells a running command from one that ended, and throws for one that was lost', () => {
  const output = new CommandOutput();
  output.take({ stream: 'start', data: '', exec_id: 'ex-1' });
  output.take({ stream: 'stdout', data: 'a' });
  expect(output.result().structuredContent).toMatchObject({
    state: 'running',
    stdout: 'a',
    truncated: false,
  });
  output.take({ stream: 'exit', data: '', exit_code: 137, signal: 'SIGKILL', timed_out: true });
  expect(output.result().content).toEqual([
    { type: 'text', text: 'state: exited, exit_code: 137, signal: SIGKILL, timed_out: true\nstdout:\na' },
  ]);
  const lost = { stream: 'error', data: '', code: 'unavailable', message: 'The worker is lost.' } as const;
  expect(() => output.take(lost)).toThrow('The worker is lost.');
});

it('shows code, message and remedy of a failure, not its cause', () => {
  const cause = new Error('password=hunter2');
  const failure = new ServiceError('conflict', 'It is so.', { remedy: 'Change it.', cause });
  expect(failureResult(failure)).toEqual({
    content: [{ type: 'text', text: 'conflict: It is so. Change it.' }],
    isError: true,
  });
});
