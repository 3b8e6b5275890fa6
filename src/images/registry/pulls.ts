// All pulls of this process into its store: several callers of an image share one pull, which continues when they leave, and
// the number of pulls is bounded, for each account and in all.

import { ServiceError } from '../../domain/errors.ts';
import { completeImageName, parseImageReference } from '../../domain/image-name.ts';
import { type ImageWish, limitedPolicy } from '../../domain/image-policy.ts';
import { keepNewest } from '../../domain/keep-newest.ts';
import type { PulledFor } from '../../domain/machine-images.ts';
import type { PulledFacts, PullReport, PullReports } from '../../domain/pull-report.ts';
import { abortable, orAfter } from '../../domain/timeout.ts';
import type { ImageState } from '../../schema/admission.ts';
import type { PullPolicy } from '../../schema/image-policy.ts';
import { isAllowed } from './allowed.ts';
import { type PullDeps, type PullEvent, type Pulled, type PullRequest, pullImage } from './pull.ts';

/** Limits of concurrent pulls, for each account and in all. */
const MOST_OF_ACCOUNT = 4;
const MOST_PULLS = 32;
/** How long an answer of a registry about a tag holds for other starts. */
const CHECKED_MS = 30_000;
const MOST_CHECKED = 1000;
const AGAIN_MS = 10_000;
/** How long a failure answers further starts, so that many of them do not make as many requests. */
const FAILED_MS = 5000;

export interface PullsDeps extends PullDeps {
  /** images.pull, the most that starts may do here. */
  policy: PullPolicy;
  /** images.spawn_wait, in ms. */
  spawnWaitMs: number;
}

export interface PullWish extends Pick<PullRequest, 'image' | 'pull' | 'platform' | 'for'> {
  /** Pulls of one account are bounded together; undefined is not bounded. */
  account?: string | undefined;
}

/** Reads the store, and bounds how long that takes: the store may lie on a mount that hangs. */
export type IsStored = () => Promise<boolean>;

interface Flight {
  result: Promise<Pulled>;
  watchers: Set<(event: PullEvent) => void>;
}

export class ImagePulls implements PullReports {
  readonly #deps: PullsDeps;
  readonly #flights = new Map<string, Flight>();
  readonly #held = new Map<string, number>();
  /** When a registry was asked about a name, by monotonic time. */
  readonly #checked = new Map<string, number>();
  readonly #failed = new Map<string, { error: unknown; at: number }>();
  readonly #stop = new AbortController();
  onPulled: ((report: PullReport) => void) | undefined;

  constructor(deps: PullsDeps) {
    this.#deps = deps;
  }

  /**
   * Pulls the image, or joins a pull of it. Throws as `pullImage` does, `resource_limit` for an account with too many pulls,
   * `unavailable` when there are too many in all, and the reason of `signal`, after which the pull continues.
   */
  async pull(wish: PullWish, signal: AbortSignal, onEvent?: (event: PullEvent) => void): Promise<Pulled> {
    const flight = this.#join(wish);
    if (onEvent) flight.watchers.add(onEvent);
    try {
      return await abortable(flight.result, signal);
    } finally {
      if (onEvent) flight.watchers.delete(onEvent);
    }
  }

  /**
   * Resolves when a start need not wait for the image, with what the start should report of the pull. Resolves also when the image is
   * missing and the policy does not pull: the start decides. Throws as `pull` and `isStored` do, and `unavailable` after
   * `images.spawn_wait`.
   */
  async ready(wish: ImageWish, isStored: IsStored, signal: AbortSignal): Promise<string[]> {
    const { store, policy: most, spawnWaitMs } = this.#deps;
    const policy = limitedPolicy(wish.policy, most);
    if (policy === 'optional' || policy === 'present' || this.#isStopped) return [];
    const isEnough = policy === 'missing' || this.#isSettled(wish);
    if (isEnough && (await isStored())) return [];
    const began = store.clock.monotonic();
    const { image, account } = wish;
    const who = pulledFor(wish);
    this.#refuseFailed(checkedKey(image, who));
    const work = this.pull({ image, account, pull: policy, for: who }, signal);
    const pulled = await orAfter(store.clock, spawnWaitMs, work, () => {
      throw stillPulling(image);
    });
    return pulled.isUnchanged ? [] : [note(image, store.clock.monotonic() - began)];
  }

  /** Whether a start with this image finds it, could pull it, or would fail. Asks no registry. */
  async state({ image, policy }: ImageWish, isStored: IsStored): Promise<ImageState> {
    if (await isStored()) return 'present';
    const limited = limitedPolicy(policy, this.#deps.policy);
    const pulls = limited === 'missing' || limited === 'always';
    return pulls && isAllowed(this.#deps.settings, parseImageReference(image)) ? 'pullable' : 'refused';
  }

  /** Breaks off all pulls; partial layers stay for the next. Idempotent. */
  async close(): Promise<void> {
    this.#stop.abort(new ServiceError('unavailable', 'The server is stopping.'));
    await Promise.allSettled([...this.#flights.values()].map(({ result }) => result));
  }

  get #isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  #refuseFailed(key: string): void {
    const known = this.#failed.get(key);
    if (known && this.#deps.store.clock.monotonic() - known.at < FAILED_MS) throw known.error;
  }

  /** A digest never changes what it names, and a tag was asked about a moment ago. */
  #isSettled(wish: ImageWish): boolean {
    const { image } = wish;
    const at = this.#checked.get(checkedKey(image, pulledFor(wish))) ?? Number.NEGATIVE_INFINITY;
    const isFresh = this.#deps.store.clock.monotonic() - at < CHECKED_MS;
    return isFresh || parseImageReference(image).digest !== undefined;
  }

  #join(wish: PullWish): Flight {
    this.#stop.signal.throwIfAborted();
    const key = [checkedKey(wish.image, wish.for), wish.pull, wish.platform ?? ''].join(' ');
    const known = this.#flights.get(key);
    if (known) return known;
    if (this.#flights.size >= MOST_PULLS) throw tooMany('unavailable');
    const { account } = wish;
    if (account !== undefined && (this.#held.get(account) ?? 0) >= MOST_OF_ACCOUNT)
      throw tooMany('resource_limit');
    const watchers: Flight['watchers'] = new Set();
    const flight = { watchers, result: this.#run(wish, key, watchers) };
    // Its callers may have left.
    flight.result.catch(() => undefined);
    this.#flights.set(key, flight);
    return flight;
  }

  async #run(wish: PullWish, key: string, watchers: Flight['watchers']): Promise<Pulled> {
    const { clock } = this.#deps.store;
    const { account, ...request } = wish;
    const began = clock.monotonic();
    const name = checkedKey(wish.image, wish.for);
    this.#hold(account, 1);
    const onEvent = (event: PullEvent) => {
      for (const watch of watchers) watch(event);
    };
    const report = (result: Pulled | undefined, error: unknown) => {
      const durationMs = Math.round(clock.monotonic() - began);
      this.onPulled?.({ image: wish.image, durationMs, account, result: result && factsOf(result), error });
    };
    try {
      const pulled = await pullImage(this.#deps, { ...request, signal: this.#stop.signal, onEvent });
      keepNewest(this.#checked, name, clock.monotonic(), MOST_CHECKED);
      this.#failed.delete(name);
      report(pulled, undefined);
      return pulled;
    } catch (error) {
      if (!this.#isStopped) keepNewest(this.#failed, name, { error, at: clock.monotonic() }, MOST_CHECKED);
      report(undefined, error);
      throw error;
    } finally {
      this.#flights.delete(key);
      this.#hold(account, -1);
    }
  }

  #hold(account: string | undefined, change: number): void {
    if (account === undefined) return;
    const count = (this.#held.get(account) ?? 0) + change;
    if (count === 0) this.#held.delete(account);
    else this.#held.set(account, count);
  }
}

const pulledFor = ({ private_images }: ImageWish): PulledFor => (private_images ? 'trusted' : 'anyone');

/** What a registry says depends on who asks. */
const checkedKey = (image: string, who: PulledFor) => `${completeImageName(image)} ${who}`;

function factsOf({ found, fetchedBytes, isUnchanged }: Pulled): PulledFacts {
  const { digest, size_bytes: sizeBytes } = found.image;
  return { digest, sizeBytes, fetchedBytes, isUnchanged };
}

const note = (image: string, ms: number) => `Image ${image} was pulled in ${(ms / 1000).toFixed(1)} s.`;

function stillPulling(image: string): ServiceError {
  return new ServiceError('unavailable', `Image ${image} is still being pulled.`, {
    remedy:
      'Spawn again in a moment: the pull continues. images.spawn_wait is how long a spawn waits for it.',
    retryAfterMs: AGAIN_MS,
  });
}

function tooMany(code: 'unavailable' | 'resource_limit'): ServiceError {
  const isOwn = code === 'resource_limit';
  return new ServiceError(
    code,
    isOwn
      ? `More than ${MOST_OF_ACCOUNT} images are being pulled for this owner.`
      : 'Too many images are being pulled.',
    { remedy: 'Try again when these pulls have finished.', retryAfterMs: AGAIN_MS },
  );
}
