// Processes that this server did not start: what their notes say, whatever a sandbox put there, and who follows them.
import { expect, it } from 'vitest';
import type { ControlPlane } from '../../../../../src/control/api/control-plane.ts';
import type { KeptItem, LiveExec } from '../../../../../src/control/api/execs.ts';
import { KeptProcesses, noteOf } from '../../../../../src/http/e2b/process/kept-processes.ts';
import { ProcessTable } from '../../../../../src/http/e2b/process/process-table.ts';
import { fieldsOf } from '../../../../../src/http/e2b/read-body.ts';
import type { RpcCall } from '../../../../../src/http/e2b/rpc/rpc.ts';
import { fakeClock } from '../../../../support/fakes/ports.ts';

const config = { cmd: '/bin/bash', args: ['-l', '-c', 'x'], envs: { SECRET: 's' }, cwd: '/tmp' };
const item = (note: string, more: Partial<KeptItem> = {}): KeptItem => ({
  ...{ exec_id: `ex-${note.length}`, pid: 7, hasInput: true, note, state: 'running' },
  ...more,
});
const call = { sandbox_id: 'sb-a', signal: new AbortController().signal } as RpcCall;
const noExec: LiveExec & { truncated: boolean } = {
  exec_id: 'ex-1',
  stdin: { write: async () => {}, end: () => {} },
  output: (async function* () {})(),
  exit: new Promise(() => {}),
  resize: async () => {},
  signal: async () => {},
  truncated: false,
};

function world(items: KeptItem[]) {
  const clock = fakeClock();
  const asked: string[] = [];
  const control = {
    exec: {
      kept: async () => items,
      resume: async ({ exec_id }: { exec_id: string }) => {
        asked.push(exec_id);
        return { ...noExec, exec_id };
      },
    },
  } as unknown as Pick<ControlPlane, 'exec'>;
  return { kept: new KeptProcesses(control, new ProcessTable(clock), clock), asked, clock };
}

it('writes no environment, and leaves out arguments that do not fit', () => {
  const note = noteOf({ config, tag: 't', isPty: false });
  expect(JSON.parse(note)).toEqual({
    cmd: '/bin/bash',
    args: ['-l', '-c', 'x'],
    cwd: '/tmp',
    tag: 't',
    pty: false,
  });
  const long = noteOf({ config: { ...config, args: ['-l', '-c', 'ä'.repeat(3000)] }, isPty: true });
  expect(Buffer.byteLength(long)).toBeLessThanOrEqual(1024);
  expect(JSON.parse(long)).toMatchObject({ args: ['-l', '-c', '…'], pty: true });
  const name = noteOf({ config: { ...config, cmd: 'c'.repeat(5000) }, isPty: false });
  expect(Buffer.byteLength(name)).toBeLessThanOrEqual(1024);
});

it('lists what runs, and nothing that a sandbox made up', async () => {
  const good = item(noteOf({ config, tag: undefined, isPty: false }));
  const { kept } = world([
    good,
    ...['', '{', 'null', '[]', '{"cmd":1,"args":[]}', '{"cmd":"a","args":[1]}', '{"cmd":"a"}'].map((note) =>
      item(note),
    ),
    item('{"cmd":"gone","args":[]}', { state: 'exited', ended_at: new Date(0).toISOString() }),
  ]);
  expect(await kept.running(call)).toEqual([
    { pid: 7, tag: undefined, isPty: false, hasInput: true, config: { ...config, envs: {} } },
  ]);
});

it('follows one once, by pid or tag, and knows no others', async () => {
  const note = noteOf({ config, tag: 'mine', isPty: false });
  const { kept, asked } = world([item(note, { exec_id: 'ex-9' })]);
  const by = (selector: object) => kept.find(call, fieldsOf(selector));
  const [first, second] = await Promise.all([by({ pid: 7 }), by({ tag: 'mine' })]);
  expect(second).toBe(first);
  expect(await by({ pid: 7 })).toBe(first);
  expect(asked).toEqual(['ex-9']);
  expect((await kept.running(call)).length).toBe(1);
  await expect(by({ pid: 8 })).rejects.toMatchObject({ code: 'not_found' });
  await expect(by({})).rejects.toMatchObject({ code: 'invalid_argument' });
});
