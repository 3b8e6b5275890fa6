// What the data plane shows of a sandbox over plain HTTP: its environment, and what it uses.
import type { ControlPlane } from '../../control/api/control-plane.ts';
import type { RpcCall } from './rpc/rpc.ts';
import { sampleOf } from './usage-sample.ts';

interface ViewDeps {
  control: Pick<ControlPlane, 'exec' | 'sandboxes'>;
}

/** What a command would get. */
export async function environmentIn(
  { control }: ViewDeps,
  { sandbox_id, caller, signal, hold }: RpcCall,
): Promise<Record<string, string>> {
  const request = { command: 'env -0', timeout: '10s' };
  const { stdout } = await control.exec.run(sandbox_id, request, caller, signal, hold);
  const lines = String(stdout)
    .split('\0')
    .filter((line) => line.includes('='));
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
}

/** What it uses now. */
export async function usage(
  { control }: ViewDeps,
  { sandbox_id, caller, signal, hold }: RpcCall,
): Promise<object> {
  const sandbox = await control.sandboxes.get(sandbox_id, caller);
  const sample = await sampleOf(control, sandbox, { caller, signal, hold });
  const mib = (bytes: number) => Math.round(bytes / 1024 / 1024);
  return {
    ts: sample.timestampUnix,
    cpu_count: sample.cpuCount,
    cpu_used_pct: sample.cpuUsedPct,
    mem_total: sample.memTotal,
    mem_used: sample.memUsed,
    mem_cache: sample.memCache,
    mem_total_mib: mib(sample.memTotal),
    mem_used_mib: mib(sample.memUsed),
    disk_used: sample.diskUsed,
    disk_total: sample.diskTotal,
  };
}
