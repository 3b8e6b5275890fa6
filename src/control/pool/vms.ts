// The life of the VMs of the pool: created for their first sandbox, ended with their last. They have no name for
// callers and appear in no list of sandboxes.
import { type SessionHold, Sessions, type SessionsDeps } from '../../agent/sessions.ts';
import { ServiceError } from '../../domain/errors.ts';
import { NotStarted } from '../../domain/not-started.ts';
import type { PoolVm } from '../../domain/pool.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import { abortable } from '../../domain/timeout.ts';
import type { ProviderSet, RuntimeState } from '../../providers/provider.ts';
import type { PoolStore } from '../../store/seam/pool.ts';
import { destroyedMeanwhile } from '../runtime/in-flight-spawns.ts';
import { type Runtime, runtimeRef } from '../runtime/runtimes.ts';

export const VM_EPOCH = 1;
/** Delays of repeated checks: other sandboxes may take time to end. */
const LOOKS_MS = [1000, 5000, 15_000];
/** The expiry in the label of the runtime; a VM lives as long as it holds sandboxes. */
const NEVER = '9999-12-31T23:59:59.999Z';

export interface VmsDeps {
  pool: PoolStore;
  providers: ProviderSet;
  clock: Clock;
  logger: Logger;
}

interface Making {
  abort: AbortController;
  vm: Promise<PoolVm>;
}

export class Vms {
  readonly #deps: VmsDeps;
  readonly #sessions: Sessions<Runtime>;
  readonly #makings = new Map<string, Making>();
  readonly #ends = new Map<string, Promise<void>>();
  /** VMs that an earlier process left unfinished and that are not retired yet. */
  readonly #unmade = new Set<string>();
  #ended: ((provider: string) => void) | undefined;

  constructor(deps: VmsDeps) {
    this.#deps = deps;
    const attach: SessionsDeps<Runtime>['attach'] = (vm, signal) =>
      deps.providers.get(vm.provider).attach(runtimeRef(vm), signal);
    this.#sessions = new Sessions({ clock: deps.clock, attach });
  }

  /** Calls `listener` when a VM has ended: this frees capacity that the end of its last sandbox may not have freed. */
  onEnd(listener: (provider: string) => void): void {
    this.#ended = listener;
  }

  /** Resolves with the running VM; concurrent callers create it once. `image` is passed to the provider. */
  async ready(vm: PoolVm, image: string | undefined, signal: AbortSignal): Promise<PoolVm> {
    if (vm.state === 'running') return vm;
    const making = this.#makings.get(vm.id) ?? this.#begin(vm, image);
    return abortable(making.vm, signal);
  }

  /** Acquires the session of the VM, which all its sandboxes share. */
  acquire(vm: PoolVm, signal: AbortSignal): Promise<SessionHold> {
    return this.#sessions.acquire({ ...vm, epoch: VM_EPOCH }, signal);
  }

  inspect(vm: PoolVm, signal: AbortSignal): Promise<RuntimeState> {
    return this.#deps.providers.get(vm.provider).inspect(runtimeRef({ ...vm, epoch: VM_EPOCH }), signal);
  }

  /** Ends a VM that is `destroying`; its record is removed once its runtime has ended. */
  end(vm: PoolVm): Promise<void> {
    const ending = this.#ends.get(vm.id) ?? this.#end(vm).finally(() => this.#ends.delete(vm.id));
    this.#ends.set(vm.id, ending);
    return ending;
  }

  /** Runs before any spawn. VMs that an earlier process left unfinished take no sandboxes; the sweep ends them. */
  async start(): Promise<void> {
    const { pool, logger } = this.#deps;
    try {
      const left = (await pool.all()).filter(({ state }) => state === 'creating');
      for (const { id } of left) this.#unmade.add(id);
    } catch (error) {
      logger.warn({ err: error }, 'Could not list unfinished pool VMs; reconciliation ends them.');
    }
    for (const id of [...this.#unmade]) {
      await this.#retire(id).catch((error: unknown) => {
        logger.warn(
          { vm_id: id, err: error },
          'Could not retire an unfinished pool VM; the next sweep retries.',
        );
      });
    }
  }

  /** Ends the VMs of `provider` that hold no sandbox, after an interrupted end. Never rejects. */
  async sweep(provider: string): Promise<void> {
    const vms = await this.#deps.pool.all();
    await Promise.all(vms.filter((vm) => vm.provider === provider).map(({ id }) => this.#look(id)));
  }

  /** Checks the VM later: once the end of a sandbox is recorded, it may have been the last. */
  lookLater(id: string): void {
    for (const ms of LOOKS_MS) this.#deps.clock.after(ms, () => void this.#look(id));
  }

  closeAll(): void {
    this.#sessions.closeAll();
  }

  /** Retires an unfinished VM in any case, any other VM when it is empty. */
  async #retire(id: string): Promise<PoolVm | undefined> {
    const retired = await this.#deps.pool.retire(id, { lost: this.#unmade.has(id) });
    this.#unmade.delete(id);
    return retired;
  }

  async #look(id: string): Promise<void> {
    const { logger } = this.#deps;
    try {
      const retired = await this.#retire(id);
      if (retired) await this.end(retired);
    } catch (error) {
      logger.warn({ vm_id: id, err: error }, 'Could not confirm that a pool VM ended; retrying.');
    }
  }

  #begin(vm: PoolVm, image: string | undefined): Making {
    const abort = new AbortController();
    const making = { abort, vm: this.#make(vm, image, abort.signal) };
    this.#makings.set(vm.id, making);
    const over = () => void this.#makings.delete(vm.id);
    making.vm.then(over, over);
    return making;
  }

  async #make(vm: PoolVm, image: string | undefined, signal: AbortSignal): Promise<PoolVm> {
    const { pool, providers } = this.#deps;
    const { id, memory_mb, vcpus } = vm;
    const known = await pool.get(id);
    // The record was read while another creation was running that has finished since.
    if (known?.state === 'running') return known;
    if (known?.state !== 'creating' || this.#unmade.has(id)) throw vmEnded();
    try {
      const size = { image, memory_mb, vcpus, network: 'default' } as const;
      const spec = { id, epoch: VM_EPOCH, ...size, expires_at: NEVER, role: 'pool' } as const;
      const created = await providers.get(vm.provider).create(spec, signal);
      const running = await pool.running(id, created);
      if (running) return running;
      throw destroyedMeanwhile();
    } catch (error) {
      await this.#giveUp(vm, error);
      throw error;
    }
  }

  /** Accepts no more sandboxes in it; the sweep retries the end. */
  async #giveUp({ id }: PoolVm, failure: unknown): Promise<void> {
    const { pool, logger } = this.#deps;
    try {
      const retired = await pool.retire(id, { lost: true });
      if (retired) await this.#finish(retired, { isMade: !(failure instanceof NotStarted) });
    } catch (error) {
      logger.warn(
        { vm_id: id, err: error },
        'Could not confirm that a failed pool VM left no runtime; retrying.',
      );
    }
  }

  async #end(vm: PoolVm): Promise<void> {
    const making = this.#makings.get(vm.id);
    making?.abort.abort(destroyedMeanwhile());
    await making?.vm.catch(() => undefined);
    await this.#finish(vm);
  }

  async #finish(vm: PoolVm, { isMade } = { isMade: true }): Promise<void> {
    const { pool, providers } = this.#deps;
    await this.#sessions.end(vm.id);
    // Not by its runtime_id: it may have been created after this record was read.
    const ref = { id: vm.id, epoch: VM_EPOCH };
    if (isMade) await providers.get(vm.provider).destroy(ref, new AbortController().signal);
    await pool.remove(vm.id);
    this.#ended?.(vm.provider);
  }
}

/** For a sandbox whose VM has ended or was never created. */
export function vmEnded(): ServiceError {
  return new ServiceError('unavailable', 'The VM of the sandbox has ended.', {
    remedy: 'Spawn a new sandbox.',
  });
}
