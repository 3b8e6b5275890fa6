// The real svc-agent as process of a gVisor of its own, spoken to over its standard streams: a kernel that lacks what
// Linux has had for years. It sees this machine's files, and what it writes is gone with it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import type { AgentIo } from '../../../src/agent/io.ts';
import { openSession } from '../../../src/agent/session.ts';
import { realClock } from '../../../src/host/clock.ts';
import { realRandom } from '../../../src/host/random.ts';
import { silentLogger } from '../fakes/ports.ts';
import { removeFolder } from '../remove.ts';
import { AGENT } from './real-agent.ts';

const RING_BYTES = 1024 * 1024;

export interface GvisorAgent {
  io: AgentIo;
  /** Ends it with everything in it. */
  stop(): Promise<void>;
}

/** Its default workdir is `/tmp/work`. Needs root and runsc. */
export async function startGvisorAgent(): Promise<GvisorAgent> {
  const state = mkdtempSync(join(tmpdir(), 'svc-gvisor-'));
  const serve = [AGENT, 'serve', '--settings-fd', '0', '--workdir', '/tmp/work'];
  const options = [`--root=${state}`, '--platform=ptrace', '--network=none'];
  const child = spawn('runsc', [...options, 'do', ...serve], { stdio: ['pipe', 'pipe', 'ignore'], cwd: '/' });
  const secret = Buffer.from('fedcba9876543210');
  const ring = Buffer.alloc(8);
  ring.writeBigUInt64LE(BigInt(RING_BYTES));
  child.stdin.write(Buffer.concat([secret, ring]));
  const stop = async () => {
    const ended = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined;
    child.kill('SIGTERM');
    await ended;
    removeFolder(state);
  };
  try {
    const stream = Duplex.from({ readable: child.stdout, writable: child.stdin });
    const deps = { clock: realClock(), random: realRandom(), logger: silentLogger };
    return { io: await openSession({ stream, secret, ...deps }), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
