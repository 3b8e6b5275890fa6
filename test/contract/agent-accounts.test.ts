// Users of a sandbox over a real agent: what `asAccount` promises. What the agent itself refuses is in agent/test/accounts_test.py.
// Here the sandbox is this machine, and its user `daemon`.
import { chmodSync, existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import type { AccountIo, AgentIo, Exec, ExecSpec } from '../../src/agent/io.ts';
import { AGENTS } from '../support/hosts/real-agent.ts';
import { describeWith } from '../support/requires.ts';

const DAEMON = 1;
let count = 0;

function shell(script: string, more: Partial<ExecSpec> = {}): ExecSpec {
  count += 1;
  const env = { PATH: '/usr/bin:/bin' };
  return { exec_id: `ex-${count}`, argv: ['sh', '-c', script], label: script, env, workdir: '/', ...more };
}

async function output(exec: Exec): Promise<string> {
  let all = '';
  for await (const { data } of exec.output) all += data.toString();
  await exec.exit;
  return all;
}

function account(io: AgentIo, name: string): AccountIo {
  if (!io.asAccount) throw new Error('the agent has no accounts');
  return io.asAccount(name);
}

for (const { way, startAgent } of AGENTS)
  describeWith(['cc', 'root'], `users of a sandbox ${way}`, () => {
    test('run commands that the sandbox finds, feeds, resizes and ends', async () => {
      const io = await (await startAgent()).open();
      const daemon = account(io, 'daemon');
      expect(await output(daemon.exec(shell('id -un; id -gn')))).toBe('daemon\ndaemon\n');
      expect(await output(account(io, 'root').exec(shell('id -un')))).toBe('root\n');
      const cat = daemon.exec(shell('cat; id -u', { stdin: true }));
      await cat.stdin.write(Buffer.from('fed '));
      cat.stdin.end();
      expect(await output(cat)).toBe('fed 1\n');
      const terminal = daemon.exec(
        shell('while :; do stty size; sleep 0.1; done', { pty: { rows: 9, cols: 9 } }),
      );
      await terminal.started;
      await terminal.resize(30, 100);
      for await (const { data } of terminal.output) if (`${data}`.includes('30 100')) break;
      terminal.kill();
      const kept = daemon.exec(shell('exec sleep 4000', { keep: 'note' }));
      await kept.started;
      expect((await io.execs.kept?.())?.map(({ note }) => note)).toContain('note');
      await io.execs.signal(kept.exec_id, 'SIGKILL');
      expect(await kept.exit).toMatchObject({ signal: 'SIGKILL' });
      await io.ping();
    });

    test('have their own rights over files, and no others', async () => {
      const agent = await startAgent();
      const io = await agent.open();
      const { files } = account(io, 'daemon');
      chmodSync(agent.folder, 0o777);
      await files.write(join(agent.folder, 'a/b'), Buffer.from('mine'), {});
      expect([join(agent.folder, 'a'), join(agent.folder, 'a/b')].map((path) => statSync(path).uid)).toEqual([
        ...[DAEMON, DAEMON],
      ]);
      expect(await text((await files.read(join(agent.folder, 'a/b'), { offset: 1 })).content)).toBe('ine');
      const closed = join(agent.folder, 'closed');
      writeFileSync(closed, 'secret', { mode: 0o600 });
      await expect(files.read(closed, { offset: 0 })).rejects.toMatchObject({ code: 'forbidden' });
      await expect(files.chmod(closed, 0o777)).rejects.toMatchObject({ code: 'forbidden' });
      expect((await files.list(agent.folder, 2)).map(({ name }) => name)).toEqual(['a', 'b', 'closed']);
      const changes = await files.watch?.(agent.folder, { recursive: false });
      await files.move(join(agent.folder, 'a/b'), join(agent.folder, 'moved'));
      for await (const { name } of changes?.changes ?? []) {
        expect(name).toBe('moved');
        break;
      }
      await files.remove(join(agent.folder, 'moved'), false);
      expect(existsSync(join(agent.folder, 'moved'))).toBe(false);
    });

    test('must be there', async () => {
      const io = await (await startAgent()).open();
      const nobody = account(io, 'nobody-here');
      const refused = { code: 'bad_request', message: 'The sandbox has no user of this name.' };
      await expect(nobody.exec(shell('true')).exit).rejects.toMatchObject(refused);
      await expect(nobody.files.stat('/')).rejects.toMatchObject(refused);
    });
  });
