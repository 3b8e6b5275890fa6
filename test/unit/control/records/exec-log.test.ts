// Records of commands: what is kept of a command line, and that one batch stores a short command once.
import { expect, it } from 'vitest';
import { ExecLog } from '../../../../src/control/records/exec-log.ts';
import { redactor } from '../../../../src/redact/engine.ts';
import type { StoredExec } from '../../../../src/store/seam/execs.ts';
import { fakeDeps } from '../../../support/fakes/ports.ts';
import { api, forever, roomy, world } from '../../../support/servers/control.ts';

const SECRET = 'canary-9f8e7d6c5b4a';

function logOf() {
  const deps = fakeDeps();
  const batches: StoredExec[][] = [];
  const { value } = redactor({ secrets: [SECRET] });
  const execs = { record: async (each: StoredExec[]) => void batches.push(each), list: async () => [] };
  return { ...deps, batches, log: new ExecLog({ ...deps, execs, redact: value }) };
}
const ids = { sandbox_id: 'sb-a', exec_id: 'ex-a' };

it('shows the command with its arguments', () => {
  expect(logOf().log.shown({ command: 'git', args: ['commit', '-m', 'a b'] })).toBe('git commit -m a b');
});

it.each([
  ['a known secret', { command: 'curl', args: [`http://x/?k=${SECRET}`] }],
  ['an assignment', { command: 'API_TOKEN=abc-123-def make' }],
  ['a bearer token', { command: 'curl', args: ['-H', 'Authorization: Bearer abc-123-def'] }],
  ['a secret at the cut of the text', { command: 'x'.repeat(1015), args: [SECRET] }],
  ['a secret after megabytes of text', { command: 'x'.repeat(16_370), args: [SECRET] }],
])('removes %s', (_, request) => {
  const shown = logOf().log.shown(request);
  expect(shown).not.toMatch(/canary|abc-123|9f8e/);
  expect(shown.length).toBeLessThanOrEqual(1024);
});

it('stores a short command once, with its result', async () => {
  const { log, clock, batches } = logOf();
  log.started(ids, { command: 'true' }, 'key:ci')({ exit_code: 0 });
  await clock.advance(50);
  expect(batches).toMatchObject([[{ ...ids, command: 'true', actor: 'key:ci', exit_code: 0 }]]);
});

it('stores a long command twice, and a running one without a result', async () => {
  const { log, clock, batches } = logOf();
  const end = log.started(ids, { command: 'sleep', args: ['9'] }, 'key:ci');
  const runsOn = log.started({ ...ids, exec_id: 'ex-b' }, { command: 'serve', detach: true }, 'key:ci');
  runsOn({ exit_code: -1 });
  await clock.advance(50);
  end({ exit_code: 143, signal: 'SIGTERM' });
  await log.close();
  expect(batches.map((batch) => batch.length)).toEqual([2, 1]);
  expect(batches[0]?.every((exec) => exec.ended_at === undefined)).toBe(true);
  expect(batches[1]).toMatchObject([{ exit_code: 143, signal: 'SIGTERM' }]);
});

it('lists the commands of an ended sandbox, with their actors', async () => {
  const w = world();
  const { id } = await w.control.sandboxes.spawn({}, api, {}, forever);
  const ops = { ...api, actor: 'key:ops' };
  await w.control.exec.run(id, { command: 'echo', args: ['TOKEN=abc'] }, ops, forever, roomy);
  await w.control.sandboxes.destroy(id, api);
  const ended = await w.control.exec.list(id, api, forever);
  expect(ended).toMatchObject([{ actor: 'key:ops', command: 'echo TOKEN=abc', state: 'exited' }]);
  const [first] = ended;
  expect(await w.control.exec.get(id, first?.exec_id ?? '', api, forever)).toEqual(first);
  await expect(w.control.exec.list('sb-nobody', api, forever)).rejects.toMatchObject({ code: 'not_found' });
});

it('lists commands only for the owner', async () => {
  const w = world({ auth: { enforce_owner: true } });
  const ann = { ...api, owner: 'ann' };
  const { id } = await w.control.sandboxes.spawn({}, ann, {}, forever);
  await w.control.exec.run(id, { command: 'true' }, ann, forever, roomy);
  await w.control.sandboxes.destroy(id, ann);
  expect(await w.control.exec.list(id, ann, forever)).toHaveLength(1);
  const bob = { ...api, owner: 'bob' };
  await expect(w.control.exec.list(id, bob, forever)).rejects.toMatchObject({ code: 'not_found' });
});
