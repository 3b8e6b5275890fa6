// The snapshots of one instance: each is made once for many callers, replaced when it no longer fits, not retried for a while
// after a failure, and never removed while a guest starts from it.
import { createHash } from 'node:crypto';
import { rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import { once } from '../../domain/once.ts';
import { abortable, orAfter } from '../../domain/timeout.ts';
import { withinDeadline } from '../deadline.ts';
import { runtimeNames } from '../local/instance-folders.ts';
import { clear } from './destroy.ts';
import { isSnapshotRun } from './folders.ts';
import { imageIdentity } from './images.ts';
import { type Making, networkOf } from './launch.ts';
import { readSnapshot, recordPath, type Snapshot, type SnapshotFacts, snapshotKey } from './snapshot.ts';
import { pruneSnapshots } from './snapshot-prune.ts';
import { saveSnapshot } from './snapshot-save.ts';
import { snapshotTrust } from './snapshot-trust.ts';
import type { MicrovmState } from './state.ts';

const SAVE_MS = 120_000;
/** A sandbox boots instead when saving takes longer: its own deadline must leave time for that. */
const WAIT_MS = 20_000;
/** After a failure guests are booted for this long before another try. */
const PAUSE_MS = 60_000;

/** A snapshot in use by a starting guest: it stays until `release`. */
export interface SnapshotHold {
  snapshot: Snapshot;
  /** The restore succeeded. */
  succeeded(): void;
  /** The restore failed and the guest boots instead. The files and the next guest show whether the snapshot is damaged. */
  failed(error: unknown): Promise<void>;
  release(): void;
}

export class SnapshotSource {
  readonly #state: MicrovmState;
  readonly #save: typeof saveSnapshot;
  readonly #making = new Map<string, Promise<Snapshot | undefined>>();
  readonly #pausedUntil = new Map<string, number>();
  /** How many guests start from each. */
  readonly #inUse = new Map<string, number>();
  readonly #over = new AbortController();
  readonly #trust = snapshotTrust(async (path) => (await this.#state.host.stat(path)) !== undefined);
  /** Ends guests that were being saved when their server ended. Done once; after a failure the next caller retries. */
  readonly tidy: () => Promise<void>;

  constructor(state: MicrovmState, save = saveSnapshot) {
    this.#state = state;
    this.#save = save;
    this.tidy = once(() => endUnfinished(state));
  }

  /**
   * The fitting snapshot, made when it does not exist. Undefined when it cannot be made, which is logged, or not in time: then
   * it serves later guests. Rejects on abort.
   */
  async hold(making: Making, signal: AbortSignal): Promise<SnapshotHold | undefined> {
    const state = this.#state;
    const facts = await factsOf(state, making);
    const key = snapshotKey(facts);
    if ((this.#pausedUntil.get(key) ?? 0) > state.clock.monotonic() || this.#over.signal.aborted)
      return undefined;
    const finding =
      this.#making.get(key) ?? this.#find(making, facts).finally(() => this.#making.delete(key));
    this.#making.set(key, finding);
    // Before anything else is awaited: from here on it is not removed.
    const count = (by: number) => void this.#inUse.set(key, (this.#inUse.get(key) ?? 0) + by);
    count(1);
    try {
      const snapshot = await orAfter(state.clock, WAIT_MS, abortable(finding, signal), () => undefined);
      if (!snapshot) return void count(-1);
      await touch(state, snapshot);
      return {
        snapshot,
        succeeded: () => this.#trust.gain(snapshot),
        failed: (error) => this.#doubt(snapshot, { id: making.spec.id, error }),
        release: () => count(-1),
      };
    } catch (error) {
      count(-1);
      throw error;
    }
  }

  /** Ends saving; resolves when nothing of it is left. No snapshot is made afterwards. */
  async close(): Promise<void> {
    this.#over.abort(new ServiceError('unavailable', 'The server is stopping.'));
    await Promise.all(this.#making.values());
  }

  async #doubt(snapshot: Snapshot, { id, error }: { id: string; error: unknown }): Promise<void> {
    const verdict = await this.#trust.judge(snapshot, id, error);
    const { logger } = this.#state;
    if (verdict === 'sound' || verdict === 'replaced')
      return logger.warn(
        { err: error, snapshot: snapshot.key },
        'Snapshot restore failed; booting the VM instead.',
      );
    this.#pause(snapshot.key, error);
    if (verdict === 'spoilt' && !this.#making.has(snapshot.key))
      await rm(snapshot.folder, { recursive: true, force: true });
  }

  /** Never rejects. */
  async #find(making: Making, facts: SnapshotFacts): Promise<Snapshot | undefined> {
    const state = this.#state;
    const key = snapshotKey(facts);
    const folder = join(state.folders.snapshots, key);
    try {
      await this.tidy();
      const there = await readSnapshot(folder);
      if (there) return there;
      if (await state.host.stat(folder))
        state.logger.warn({ snapshot: key }, 'Snapshot files changed; creating the snapshot again.');
      const made = await this.#saved({ making, facts, folder });
      await pruneSnapshots(state.folders, made, (name) => this.#making.has(name) || this.#isInUse(name));
      return made;
    } catch (error) {
      if (!this.#over.signal.aborted) this.#pause(key, error);
      return undefined;
    }
  }

  #isInUse(key: string): boolean {
    return (this.#inUse.get(key) ?? 0) > 0;
  }

  /** Saves for all callers: the end of one does not end it. It boots a guest, so it waits for its turn like one. */
  #saved(order: { making: Making; facts: SnapshotFacts; folder: string }): Promise<Snapshot> {
    const state = this.#state;
    const { signal } = this.#over;
    const expired = () => new ServiceError('timeout', 'Saving a virtual machine took too long.');
    const bounds = { ms: SAVE_MS, expired, signal };
    return state.boots.run(async () => {
      let work: Promise<unknown> = Promise.resolve();
      const call = (either: AbortSignal) => {
        const saving = this.#save(state, order, either);
        work = saving.catch(() => undefined);
        return saving;
      };
      // Its turn ends when nothing of its guest is left, even when that takes longer than a caller waits.
      return await withinDeadline(state.clock, bounds, call).finally(() => work);
    }, signal);
  }

  #pause(key: string, error: unknown): void {
    const { clock, logger } = this.#state;
    this.#pausedUntil.set(key, clock.monotonic() + PAUSE_MS);
    logger.warn({ err: error, snapshot: key }, 'Could not create a snapshot; booting VMs instead.');
  }
}

async function factsOf(
  state: MicrovmState,
  { image, env, machinery, shape, spec }: Making,
): Promise<SnapshotFacts> {
  const { kernel, initramfs, monitor, accelerator } = machinery;
  return {
    image: image.name,
    image_identity: (await imageIdentity(state.images, image.path)) ?? '',
    ...(Object.keys(env).length > 0 && { environment: hashOf(env) }),
    kernel: kernel.version,
    kernel_digest: kernel.digest,
    initramfs_digest: initramfs.digest,
    monitor: monitor.version,
    accelerator: accelerator.kind,
    boot_id: state.host.bootId,
    memory_mb: shape.memory_mb,
    vcpus: shape.vcpus,
    network: networkOf(state, spec),
    role: spec.role ?? 'sandbox',
    overlay_mb: state.config.overlay_mb,
  };
}

const hashOf = (env: Record<string, string>) =>
  createHash('sha256').update(JSON.stringify(env)).digest('hex');

async function endUnfinished(state: MicrovmState): Promise<void> {
  const names = await runtimeNames(state.folders);
  for (const name of names.filter(isSnapshotRun)) await clear(state, name);
}

async function touch({ clock }: MicrovmState, { folder }: Snapshot): Promise<void> {
  const now = clock.now() / 1000;
  await utimes(recordPath(folder), now, now).catch(() => undefined);
}
