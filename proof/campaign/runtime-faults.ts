// Faults of a runtime that the server does not cause: its first process is killed, stopped or continued. For a sandbox in a
// pool that is the process of its VM.
import { spawnSync } from 'node:child_process';
import { agents } from '../../test/support/checks/auditor.ts';
import { readLedger } from '../../test/support/checks/ledger.ts';
import type { TestServer } from '../../test/support/servers/server.ts';

const SIGNALS = { kill: 'SIGKILL', pause: 'SIGSTOP', unpause: 'SIGCONT' } as const;

/** Does nothing where there is no such runtime any more. The words are those of the engine's client. */
export function injectFault(
  { env, instance, home }: TestServer,
  id: string,
  how: keyof typeof SIGNALS,
): void {
  const socket = env.SVC_PROVIDERS_CONTAINER_SOCKET;
  if (socket !== undefined) {
    const engine = ['-H', `unix://${socket}`];
    const labels = ['--filter', `name=svc-${instance}-`, '--filter', `label=svc.id=${id}`];
    const [container] = spawnSync('docker', [...engine, 'ps', '-aq', ...labels], {
      encoding: 'utf8',
    }).stdout.split('\n');
    if (container) spawnSync('docker', [...engine, how, container], { stdio: 'ignore' });
    return;
  }
  const runtime = readLedger(home).live.find((row) => row.id === id)?.vm_id ?? id;
  for (const agent of agents([`init ${runtime}.`])) signal(Number.parseInt(agent, 10), SIGNALS[how]);
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended by itself.
  }
}
