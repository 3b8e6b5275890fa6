// The tests' own engine: starts, runs containers under both runtimes, comes back after every end, leaves nothing.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Engine, IMAGES, startEngine } from '../support/hosts/engine.ts';
import { sharedEngine } from '../support/hosts/shared-engine.ts';
import { describeWith } from '../support/requires.ts';

describeWith(['root', 'docker', 'runsc'], 'an engine of our own', () => {
  let engine: Engine;
  beforeAll(async () => {
    engine = await startEngine();
  });
  afterAll(() => engine.stop());

  const run = async (runtime: string) => {
    const body = {
      Image: IMAGES.busybox,
      Cmd: ['sleep', '600'],
      StopTimeout: 1,
      HostConfig: { Runtime: runtime },
    };
    const made = await engine.api.call<{ Id: string }>('POST', '/containers/create', body);
    const { status } = await engine.api.call('POST', `/containers/${made.body.Id}/start`);
    return { id: made.body.Id, status };
  };
  const states = async () => (await engine.api.containers()).map(({ State }) => State);

  it.each(['runc', 'runsc'])('runs a container under %s, in its own cgroup', async (runtime) => {
    const { id, status } = await run(runtime);
    expect(status).toBe(204);
    expect(existsSync(join('/sys/fs/cgroup/memory', engine.cgroup, id))).toBe(true);
  });

  it('comes back after a restart and after SIGKILL', async () => {
    expect(await states()).toEqual(['running', 'running']);
    await engine.restart();
    expect(await states()).toEqual(['exited', 'exited']);
    await run('runc');
    await engine.kill9();
    expect(engine.pid()).toBe(0);
    await engine.start();
    expect(await states()).toHaveLength(3);
  });

  it('does not answer while it is frozen', async () => {
    await engine.freeze();
    const answer = engine.api.call('GET', '/version');
    const first = await Promise.race([answer, new Promise((resolve) => setTimeout(resolve, 300, 'silence'))]);
    engine.thaw();
    expect(first).toBe('silence');
    expect((await answer).status).toBe(200);
  });

  it('leaves no folder, mount, cgroup or process behind', async () => {
    const { folder, cgroup } = engine;
    await run('runc');
    await engine.stop();
    expect(existsSync(folder)).toBe(false);
    expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain(folder);
    const groups = readdirSync('/sys/fs/cgroup').filter((one) =>
      existsSync(join('/sys/fs/cgroup', one, cgroup)),
    );
    expect(groups).toEqual([]);
    const named = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && commandOf(pid).includes(folder));
    expect(named).toEqual([]);
  });
});

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

describeWith(['root', 'docker', 'runsc'], "this run's engine", () => {
  it('is shared by all callers and holds the Debian image', async () => {
    const [one, two] = await Promise.all([sharedEngine(), sharedEngine()]);
    expect(one.socket).toBe(two.socket);
    const { body } = await one.api.call('GET', `/images/${encodeURIComponent(IMAGES.debian)}/json`);
    expect(body).toMatchObject({ Os: 'linux' });
  });
});
