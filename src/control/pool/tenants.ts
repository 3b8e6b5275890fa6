// Sandboxes in VMs of the pool (docs/design/api.md#pool): each has a uid of its own and a folder that only this uid can
// open, instead of a runtime.
import type { UserIo } from '../../agent/io.ts';
import type { SessionHold } from '../../agent/sessions.ts';
import { refuseDifferences } from '../../domain/differences.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { PoolVm } from '../../domain/pool.ts';
import type { Clock } from '../../domain/ports.ts';
import { withTimeout } from '../../domain/timeout.ts';
import { agentLifeMs } from '../../domain/ttl.ts';
import type { PoolStore } from '../../store/seam/pool.ts';
import type { SandboxRecord } from '../../store/store.ts';
import type { Runtime, Runtimes } from '../runtime/runtimes.ts';
import { atHome } from './home.ts';
import { type Vms, vmEnded } from './vms.ts';

/** The limit for removing a folder that is full of files; a VM that does not answer fails sooner. */
const LEAVE_MS = 60_000;

export interface TenantsDeps {
  pool: PoolStore;
  vms: Vms;
  clock: Clock;
}

export function tenants(deps: TenantsDeps): Omit<Runtimes, 'capabilities' | 'usage' | 'hasCurrentImage'> {
  const { pool, vms } = deps;
  return {
    async create({ row, image, strict }, signal) {
      const vm = await vms.ready(await vmOf(deps, row), image, signal);
      refuseDifferences(strict, vm.warnings);
      await withUser(deps, vm, row, (user) => enter(deps, user, row, signal), signal);
      const { runtime_id = '', memory_mb, vcpus, warnings } = vm;
      return { runtime_id, image: vm.image, memory_mb, vcpus, warnings };
    },
    async inspect(row, signal) {
      const vm = await pool.get(row.vm_id ?? '');
      return vm ? vms.inspect(vm, signal) : 'gone';
    },
    destroy: (row, signal) => leave(deps, row, signal),
    async attach(row, signal) {
      const lease = await vms.acquire(await vmOf(deps, row), signal);
      const user = userOf(lease, row);
      void user.closed.then(lease.release);
      return atHome(user, homeOf(row));
    },
  };
}

/** The VM has no deadline: each tenant has its own. */
async function enter(
  { clock }: TenantsDeps,
  user: UserIo,
  { expires_at }: Pick<SandboxRecord, 'expires_at'>,
  signal: AbortSignal,
): Promise<void> {
  await user.enter(signal);
  await user.setDeadline?.(agentLifeMs(Date.parse(expires_at), clock.now()), signal);
}

/** The last sandbox ends its VM, and so does the last one in a VM that no longer answers. */
async function leave(deps: TenantsDeps, row: Runtime, signal: AbortSignal): Promise<void> {
  const { pool, vms } = deps;
  const vm = await pool.get(row.vm_id ?? '');
  if (!vm) return;
  const retired = await pool.retire(vm.id, { but: row.id });
  if (retired) return vms.end(retired);
  // When several end at once, each may have seen another as remaining.
  vms.lookLater(vm.id);
  if ((await vms.inspect(vm, signal)) !== 'running') return;
  const error = () => new ServiceError('unavailable', 'The processes of the sandbox did not end in time.');
  await withTimeout({ clock: deps.clock, ms: LEAVE_MS, error }, (inTime) =>
    withUser(deps, vm, row, (user) => user.leave(inTime), inTime),
  );
}

async function withUser(
  { vms }: TenantsDeps,
  vm: PoolVm,
  row: Runtime,
  work: (user: UserIo) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const lease = await vms.acquire(vm, signal);
  try {
    await work(userOf(lease, row));
  } finally {
    lease.release();
  }
}

function userOf({ io, release }: SessionHold, row: Runtime): UserIo {
  if (io.as) return io.as({ uid: row.uid ?? 0, home: homeOf(row) });
  release();
  throw new ServiceError('internal', 'The runtime of the pool cannot hold several users.');
}

const homeOf = ({ id }: Runtime) => `/workspaces/${id}`;

async function vmOf({ pool }: TenantsDeps, { vm_id = '' }: Runtime): Promise<PoolVm> {
  const vm = await pool.get(vm_id);
  if (vm && vm.state !== 'destroying') return vm;
  throw vmEnded();
}
