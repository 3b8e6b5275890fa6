// Tenants of a pool over a real agent: what `as` promises. What the agent itself refuses is in agent/test/tenants_test.py.
import { chmodSync, existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import type { AgentIo, Exec, ExecSpec, UserIo } from '../../src/agent/io.ts';
import { AGENTS, type StartAgent } from '../support/hosts/real-agent.ts';
import { describeWith } from '../support/requires.ts';
import { until } from '../support/until.ts';

const ANN = 730_001;
const BOB = 730_002;
let count = 0;

function shell(script: string, more: Partial<ExecSpec> = {}): ExecSpec {
  count += 1;
  const env = { PATH: '/usr/bin:/bin' };
  return { exec_id: `ex-${count}`, argv: ['sh', '-c', script], label: script, env, ...more };
}

async function output(exec: Exec): Promise<string> {
  let all = '';
  for await (const { data } of exec.output) all += data.toString();
  await exec.exit;
  return all;
}

async function tenants(
  startAgent: StartAgent,
): Promise<{ io: AgentIo; ann: UserIo; bob: UserIo; homes: string }> {
  const agent = await startAgent();
  chmodSync(agent.folder, 0o711);
  const homes = join(agent.folder, 'homes');
  const io = await agent.open();
  const [ann, bob] = [
    io.as({ uid: ANN, home: join(homes, 'ann') }),
    io.as({ uid: BOB, home: join(homes, 'bob') }),
  ];
  await Promise.all([ann.enter(), bob.enter()]);
  return { io, ann, bob, homes };
}

for (const { way, startAgent } of AGENTS)
  describeWith(['cc', 'root'], `tenants ${way}`, () => {
    test('run commands and keep files in their homes under their own uids', async () => {
      const { ann, homes } = await tenants(startAgent);
      const home = join(homes, 'ann');
      expect(await output(ann.exec(shell('id -u; pwd; echo $HOME $TMPDIR')))).toBe(
        `${ANN}\n${home}\n${home} ${home}\n`,
      );
      expect(await output(ann.exec(shell('pwd; echo $HOME', { workdir: '/usr', env: { HOME: '/x' } })))).toBe(
        '/usr\n/x\n',
      );
      await ann.files.write(join(home, 'a/b'), Buffer.from('mine'), { mode: 0o640 });
      expect(statSync(join(home, 'a')).uid).toBe(ANN);
      const { info, content } = await ann.files.read(join(home, 'a/b'), { offset: 1 });
      expect([info.mode, await text(content)]).toEqual(['640', 'ine']);
      expect((await ann.files.list(home, 2)).map(({ path }) => path)).toEqual([
        join(home, 'a'),
        join(home, 'a/b'),
      ]);
    });

    test('cannot reach the files and commands of another tenant', async () => {
      const { ann, bob, homes } = await tenants(startAgent);
      const secret = join(homes, 'ann', 'secret');
      await ann.files.write(secret, Buffer.from('x'), { mode: 0o666 });
      const exec = ann.exec(shell('echo up; sleep 60'));
      await exec.started;
      await expect(bob.files.stat(secret)).rejects.toMatchObject({ code: 'forbidden' });
      await expect(bob.files.read(secret, { offset: 0 })).rejects.toMatchObject({ code: 'forbidden' });
      await expect(bob.files.remove(secret, false)).rejects.toMatchObject({ code: 'forbidden' });
      await expect(bob.files.move(secret, join(homes, 'bob', 'x'))).rejects.toMatchObject({
        code: 'forbidden',
      });
      expect(await bob.execs.list()).toEqual([]);
      await expect(bob.execs.signal(exec.exec_id, 'SIGKILL')).rejects.toMatchObject({ code: 'not_found' });
      expect((await ann.execs.list()).map(({ exec_id, state }) => [exec_id, state])).toEqual([
        [exec.exec_id, 'running'],
      ]);
    });

    test('end only the commands of a view that closes', async () => {
      const { io, ann, bob } = await tenants(startAgent);
      const [hers, his] = [ann.exec(shell('sleep 60')), bob.exec(shell('sleep 1; echo fine'))];
      await Promise.all([hers.started, his.started]);
      ann.close();
      await ann.closed;
      await expect(hers.exit).rejects.toMatchObject({ code: 'unavailable' });
      await expect(ann.files.stat('/')).rejects.toMatchObject({ code: 'unavailable' });
      expect(await output(his)).toBe('fine\n');
      await io.ping();
      io.close();
      await bob.closed;
    });

    test('leave no process or file behind, and all others untouched', async () => {
      const { io, ann, bob, homes } = await tenants(startAgent);
      await ann.exec(shell('setsid sleep 600 & echo x > f', { detach: true })).exit;
      await until('the process', async () => (await output(io.exec(shell(`pgrep -u ${ANN} sleep`)))) !== '');
      await ann.leave();
      expect(existsSync(join(homes, 'ann'))).toBe(false);
      // A dead one that its parent has not waited for yet is still listed.
      expect(await output(io.exec(shell(`ps -o stat= -u ${ANN} | grep -v ^Z`)))).toBe('');
      await ann.leave();
      await bob.files.stat(join(homes, 'bob'));
    });

    test('end only the processes of a tenant at its deadline', async () => {
      const { ann, bob } = await tenants(startAgent);
      // A further host is not offered deadlines: they are its worker's.
      if (!ann.setDeadline) return void expect(way).toBe('through a relay');
      const [hers, his] = [ann.exec(shell('exec sleep 4000')), bob.exec(shell('exec sleep 4000'))];
      await Promise.all([hers.started, his.started]);
      await ann.setDeadline?.(200);
      expect(await hers.exit).toMatchObject({ signal: 'SIGKILL' });
      expect(await output(bob.exec(shell('echo here')))).toBe('here\n');
      his.kill();
    });
  });
