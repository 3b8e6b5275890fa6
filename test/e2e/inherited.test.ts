// A server that was started with descriptors of somebody else's open: neither it nor what it starts keeps them.
import { existsSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { describeWith } from '../support/requires.ts';
import { api } from '../support/servers/api.ts';
import { makeHome, removeHome, startServer } from '../support/servers/server.ts';

const STRAYS = ['40', '251'];

describeWith(['unshare'], 'descriptors that a server inherits', () => {
  it('are closed, also after a gap, and reach none of its child processes', async () => {
    const home = makeHome();
    const node = join(home, 'node');
    const opened = STRAYS.map((fd) => `exec ${fd}</dev/zero`).join('\n');
    writeFileSync(node, `#!/bin/bash\n${opened}\nexec ${process.execPath} "$@"\n`, { mode: 0o755 });
    const server = await startServer({ home, node, env: { SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare' } });
    onTestFinished(async () => {
      await server.stop();
      removeHome(home);
    });
    const { id } = await api(server.url).spawn();
    onTestFinished(() => api(server.url).destroy(id));
    const pid = server.child.pid as number;
    const launchers = childrenOf(pid);
    expect(launchers.length).toBeGreaterThan(0);
    for (const each of [pid, ...launchers]) expect(straysOf(each)).toEqual([]);
  });
});

/** A server may have a descriptor of its own under the same number. */
const straysOf = (pid: string | number) =>
  STRAYS.filter((fd) => {
    const path = `/proc/${pid}/fd/${fd}`;
    return existsSync(path) && readlinkSync(path) === '/dev/zero';
  });

const childrenOf = (pid: number) =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
