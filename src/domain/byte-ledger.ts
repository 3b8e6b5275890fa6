// The ledger of bytes that the service keeps in memory for its callers: bodies, outputs, lists, pending answers, and
// answers of backends. Code that keeps more than a few KiB asks here first, so that no sum of calls can exhaust the
// process.
//
// One limit applies to all. An owner's share of it binds only while others want some, too: a lone owner, and callers
// without an owner, may use everything that is free. An eighth of the limit is kept on top for accounts that hold
// little, so that large holders never shut out small calls.
import { ServiceError } from './errors.ts';
import type { Clock } from './ports.ts';

/** The account that bytes are held on. Only owners have shares. */
export interface Account {
  readonly name: string;
  readonly isOwner: boolean;
}

/** A caller without an owner is identified by its key; all callers without a key share one account. */
export function accountOf({ owner, credential }: { owner?: string; credential: string }): Account {
  const isOwner = owner !== undefined;
  return { name: isOwner ? `owner ${owner}` : `key ${credential}`, isOwner };
}

/** The account of bytes that are not held for a caller, such as a backend's list of runtimes. */
export const SERVICE_ACCOUNT: Account = { name: 'service', isOwner: false };

/** Bytes held for one purpose. They grow as bytes arrive and return with `release` at the latest. */
export interface Hold {
  readonly bytes: number;
  /**
   * Takes all of `bytes`, or throws and takes none: `resource_limit` for an owner over its share, `unavailable` if
   * everything is in use (both with a time to retry), `payload_too_large` for more than the ledger can ever give.
   */
  grow(bytes: number): void;
  /** Takes as many of `bytes` as are free, and returns the number. */
  growUpTo(bytes: number): number;
  /** Gives back `bytes`. */
  shrink(bytes: number): void;
  /** Gives back everything; nothing can be taken afterwards. Idempotent. */
  release(): void;
}

export interface LedgerStats {
  limit_bytes: number;
  held_bytes: number;
  peak_bytes: number;
  /** Accounts that hold something. */
  holders: number;
  /** Requests refused or truncated because of an owner's share. */
  refused_share_total: number;
  /** Requests refused or truncated because the limit was reached. */
  refused_full_total: number;
}

/** The bytes from which an account counts as one that wants a share. */
const SMALL_SHARE = 64;
const SMALL_MOST = 1024 * 1024;
const RESERVE_SHARE = 8;
/** The smallest share of an owner, however many owner names a caller invents. */
const LEAST_SHARE = 64;
/** How long a refused account counts as wanting a share. */
const WANTS_MS = 30_000;
const RETRY_MS = 5_000;

interface Entry {
  held: number;
  /** Monotonic ms until which it counts as wanting more than it has. */
  wantsUntil: number;
}

export class ByteLedger {
  readonly #limit: number;
  readonly #small: number;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #entries = new Map<string, Entry>();
  #held = 0;
  #peak = 0;
  #refused = { share: 0, full: 0 };

  /** `limit` in bytes. */
  constructor(limit: number, clock: Pick<Clock, 'monotonic'>) {
    this.#limit = limit;
    this.#small = Math.min(SMALL_MOST, Math.floor(limit / SMALL_SHARE));
    this.#clock = clock;
  }

  /** Starts empty. Whoever opens it must release it. */
  open(account: Account): Hold {
    return new OpenHold({
      take: (bytes, have) => this.#take(account, bytes, have),
      takeUpTo: (bytes) => this.#takeUpTo(account, bytes),
      give: (bytes) => this.#give(account, bytes),
    });
  }

  stats(): LedgerStats {
    const holders = [...this.#entries.values()].filter(({ held }) => held > 0).length;
    return {
      limit_bytes: this.#limit,
      held_bytes: this.#held,
      peak_bytes: this.#peak,
      holders,
      refused_share_total: this.#refused.share,
      refused_full_total: this.#refused.full,
    };
  }

  #take(account: Account, bytes: number, have: number): void {
    if (have + bytes > this.#limit) throw neverFits(this.#limit);
    const { room, bound } = this.#room(account, bytes);
    if (bytes > room) throw this.#refuse(account, bound);
    this.#add(account, bytes);
  }

  #takeUpTo(account: Account, bytes: number): number {
    const { room, bound } = this.#room(account, bytes);
    if (bytes > room) this.#refuse(account, bound);
    const taken = Math.min(bytes, room);
    this.#add(account, taken);
    return taken;
  }

  /** How much of `bytes` `account` may have, and the reason for less. */
  #room(account: Account, bytes: number): { room: number; bound: 'share' | 'full' } {
    const own = this.#entries.get(account.name)?.held ?? 0;
    const isSmall = own + bytes <= this.#small;
    const reserve = isSmall ? Math.floor(this.#limit / RESERVE_SHARE) : 0;
    const free = Math.max(0, this.#limit + reserve - this.#held);
    if (isSmall || !account.isOwner) return { room: free, bound: 'full' };
    const left = Math.max(0, this.#shareOf(account) - own);
    return left < free ? { room: left, bound: 'share' } : { room: free, bound: 'full' };
  }

  /** A lone account may have everything. */
  #shareOf(account: Account): number {
    const now = this.#clock.monotonic();
    let wanting = 1;
    for (const [name, { held, wantsUntil }] of this.#entries) {
      if (held === 0 && wantsUntil <= now) this.#entries.delete(name);
      else if (name !== account.name && (held > this.#small || wantsUntil > now)) wanting += 1;
    }
    return Math.floor(this.#limit / Math.min(wanting, LEAST_SHARE));
  }

  #add({ name }: Account, bytes: number): void {
    if (bytes === 0) return;
    const entry = this.#entries.get(name);
    if (entry) entry.held += bytes;
    else this.#entries.set(name, { held: bytes, wantsUntil: 0 });
    this.#held += bytes;
    this.#peak = Math.max(this.#peak, this.#held);
  }

  #give({ name }: Account, bytes: number): void {
    const entry = this.#entries.get(name);
    if (!entry || bytes === 0) return;
    entry.held -= bytes;
    this.#held -= bytes;
    if (entry.held === 0 && entry.wantsUntil <= this.#clock.monotonic()) this.#entries.delete(name);
  }

  #refuse(account: Account, bound: 'share' | 'full'): ServiceError {
    this.#refused[bound] += 1;
    const entry = this.#entries.get(account.name) ?? { held: 0, wantsUntil: 0 };
    entry.wantsUntil = this.#clock.monotonic() + WANTS_MS;
    this.#entries.set(account.name, entry);
    return bound === 'share' ? overShare() : full();
  }
}

/** Connects a hold with its account. */
interface Till {
  /** `have` is what the same hold has already. */
  take(bytes: number, have: number): void;
  takeUpTo(bytes: number): number;
  give(bytes: number): void;
}

class OpenHold implements Hold {
  readonly #till: Till;
  #bytes = 0;
  #isOver = false;

  constructor(till: Till) {
    this.#till = till;
  }

  get bytes(): number {
    return this.#bytes;
  }

  grow(bytes: number): void {
    if (this.#isOver) throw new ServiceError('unavailable', 'The call is over.');
    this.#till.take(bytes, this.#bytes);
    this.#bytes += bytes;
  }

  growUpTo(bytes: number): number {
    if (this.#isOver) return 0;
    const taken = this.#till.takeUpTo(bytes);
    this.#bytes += taken;
    return taken;
  }

  shrink(bytes: number): void {
    const given = Math.min(bytes, this.#bytes);
    this.#bytes -= given;
    this.#till.give(given);
  }

  release(): void {
    this.shrink(this.#bytes);
    this.#isOver = true;
  }
}

/** 429: the caller's own doing, like every quota. */
function overShare(): ServiceError {
  return new ServiceError('resource_limit', 'This owner holds its share of the memory for calls.', {
    remedy: 'Read the pending responses, or send and request less at once.',
    retryAfterMs: RETRY_MS,
  });
}

/** 503: no quota is exceeded; the server is full. */
function full(): ServiceError {
  return new ServiceError('unavailable', 'The memory for calls is exhausted.', {
    remedy: 'Try again later, or raise server.buffer_limit.',
    retryAfterMs: RETRY_MS,
  });
}

function neverFits(limit: number): ServiceError {
  return new ServiceError('payload_too_large', 'This is more than the server keeps in memory.', {
    remedy: 'Request less, stream it, or raise server.buffer_limit.',
    details: { limit },
  });
}
