// What a sandbox must not reach on the host it runs on: a process, files, the environment of this one, a listener on
// loopback. All of it carries one word.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeFolder } from '../remove.ts';

const CANARY = `svc-canary-${process.pid}`;

export interface HostSide {
  facts: { canary: string; host_pid: number; host_port: number; host_files: string[] };
  /** Those of the files that no sandbox has under the same name. */
  own: string[];
  close(): Promise<void>;
}

/** Made by the caller, who closes it. */
export async function hostSide(): Promise<HostSide> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-host-'));
  const files = [join(folder, 'svc.db'), join(homedir(), CANARY)];
  // A userspace sandbox has a /home of its own.
  if (process.getuid?.() === 0) files.push(join('/home', CANARY));
  for (const file of files) writeFileSync(file, CANARY, { mode: 0o644 });
  process.env.SVC_TEST_CANARY = CANARY;
  const child: ChildProcess = spawn('/bin/sh', ['-c', `sleep 600; : ${CANARY}`], {
    detached: true,
    stdio: 'ignore',
  });
  const server: Server = await new Promise((resolve) => {
    const listening = createServer((socket) => socket.end()).listen(0, '127.0.0.1', () => resolve(listening));
  });
  const { port } = server.address() as AddressInfo;
  const host_files = [...files, '/etc/shadow', '/root/.bashrc', '/sys/kernel/uevent_helper', '/run/svc/uids'];
  return {
    own: files,
    facts: { canary: CANARY, host_pid: child.pid ?? 0, host_port: port, host_files },
    close: async () => {
      if (child.pid) process.kill(-child.pid, 'SIGKILL');
      for (const file of [folder, ...files]) removeFolder(file);
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
