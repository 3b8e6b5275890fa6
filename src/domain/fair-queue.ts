// Picks the next spawn: first come, first served within an owner, round robin between owners. Owners whose next spawn
// does not fit are passed over and keep their turn. No operation costs more in a longer queue.
import { LinkedList, type ListNode } from './linked-list.ts';
import { exit, OwnerRotation, type OwnerTurn } from './owner-rotation.ts';

export interface Waiting {
  owner: string;
  provider: string;
  /** What it demands of its worker (`demandKey`): it may lack capacity that others have. */
  demand?: string | undefined;
  /** Its position among those of its owner; only `insert` reads it. */
  seq?: number;
}

/**
 * What the next entry lacked: any capacity, capacity of its owner, of its provider, or in a VM of the pool for an owner
 * that has none there.
 */
export type MissingCapacity = 'all' | 'owner' | 'provider' | 'pool';

/** A waiting item, and the handle to remove it. */
export interface QueueEntry<T> {
  readonly item: T;
  readonly line: OwnerQueue<T>;
  link: ListNode<QueueEntry<T>> | undefined;
}

interface OwnerQueue<T> extends OwnerTurn {
  readonly owner: string;
  readonly places: LinkedList<QueueEntry<T>>;
  /** The owner has no room of its own. */
  held: boolean;
  /** The provider where no VM of the pool has capacity for the owner. What others can get there is unknown. */
  outsideOf: string | undefined;
}

export class FairQueue<T extends Waiting> {
  readonly #lines = new Map<string, OwnerQueue<T>>();
  readonly #turns = new Map<string, OwnerRotation<OwnerQueue<T>>>();
  /** Owners without room of their own, first those that were held first. */
  readonly #held = new Set<OwnerQueue<T>>();
  #full = false;
  #size = 0;
  #turn = 0;

  get size(): number {
    return this.#size;
  }

  /** Behind the others of its owner; a new owner behind all others. */
  add(item: T): QueueEntry<T> {
    return this.#put(item, this.#turn + 1, undefined);
  }

  /** In the order of `seq` among the others of its owner; a new owner at `turn`. */
  insert(item: T, turn: number): QueueEntry<T> {
    const { seq = 0 } = item;
    let after: ListNode<QueueEntry<T>> | undefined;
    let last = this.#lines.get(item.owner)?.places.last;
    while (last && (last.value.item.seq ?? 0) > seq) [after, last] = [last, last.before];
    return this.#put(item, turn, after);
  }

  /** Moves an owner that waits to this turn. */
  setTurn(owner: string, turn: number): void {
    const line = this.#lines.get(owner);
    if (!line || line.turn === turn) return;
    this.#turn = Math.max(this.#turn, turn);
    exit(line);
    line.turn = turn;
    if (!line.held) this.#enter(line);
  }

  #put(item: T, turn: number, after: ListNode<QueueEntry<T>> | undefined): QueueEntry<T> {
    const line: OwnerQueue<T> = this.#lines.get(item.owner) ?? {
      owner: item.owner,
      places: new LinkedList(),
      turn,
      at: undefined,
      held: false,
      outsideOf: undefined,
    };
    const place: QueueEntry<T> = { item, line, link: undefined };
    place.link = line.places.insert(place, after);
    this.#size++;
    if (line.places.size === 1) {
      this.#turn = Math.max(this.#turn, turn);
      this.#lines.set(item.owner, line);
    }
    if (line.places.first === place.link && !line.held) {
      exit(line);
      this.#enter(line);
    }
    return place;
  }

  /**
   * Returns the newest entry of the owner with the most entries, if `owner` would still have fewer with one more.
   * Entries without an owner never count as too many.
   */
  crowder(owner: string): QueueEntry<T> | undefined {
    let most: OwnerQueue<T> | undefined;
    for (const line of this.#lines.values())
      if (line.owner !== '' && line.places.size > (most?.places.size ?? 0)) most = line;
    const own = this.#lines.get(owner)?.places.size ?? 0;
    return most && most.places.size > own + 1 ? most.places.last?.value : undefined;
  }

  /** Returns the entry whose turn it is among those that can get capacity. The entry stays queued. */
  next(): QueueEntry<T> | undefined {
    if (this.#full) return undefined;
    let soonest: OwnerQueue<T> | undefined;
    for (const turns of this.#turns.values()) {
      const line = turns.next();
      if (line && (!soonest || line.turn < soonest.turn)) soonest = line;
    }
    return soonest?.places.first?.value;
  }

  /** Removes a served entry; its owner goes to `turn`, by default behind all others. */
  served(place: QueueEntry<T>, turn = this.#turn + 1): void {
    place.line.outsideOf = undefined;
    this.#turn = Math.max(this.#turn, turn);
    this.#leave(place, turn);
  }

  /** Removes an entry that no longer waits; its owner keeps its turn. Idempotent. */
  remove(place: QueueEntry<T>): void {
    this.#leave(place, place.line.turn);
  }

  /** Marks that `entry` was next and did not fit: no entry with the same need is next until capacity is freed. */
  hold({ line, item }: QueueEntry<T>, lack: MissingCapacity): void {
    if (lack === 'all') this.#full = true;
    else if (lack === 'provider') this.#turnsAt(roomOf(item)).isFull = true;
    else {
      exit(line);
      if (lack === 'owner') this.#keep(line);
      else this.#shutOut(line, roomOf(item));
    }
  }

  /** Capacity of this owner at this provider was freed. */
  freed({ owner, provider }: Waiting): void {
    this.#full = false;
    for (const [room, turns] of this.#turns) if (providerOf(room) === provider) turns.freed();
    this.release(owner);
  }

  /** The owner's limits have changed. */
  release(owner: string): void {
    const line = this.#lines.get(owner);
    if (!line?.held) return;
    line.held = false;
    this.#held.delete(line);
    this.#enter(line);
  }

  /** Makes all candidates again but owners without room of their own, and `most` of these: others follow with the next call. */
  retry(most: number): void {
    this.#full = false;
    for (const turns of this.#turns.values()) turns.freed();
    for (const { owner } of [...this.#held].slice(0, most)) this.release(owner);
  }

  /** The limits of everyone have changed: all passed-over entries are candidates again. */
  releaseAll(): void {
    this.#full = false;
    for (const turns of this.#turns.values()) turns.freed();
    for (const owner of this.#lines.keys()) this.release(owner);
  }

  /** True if a new entry would overtake another: one of its own owner, or one that only waits for its turn. */
  mustWait({ owner, ...item }: Waiting): boolean {
    if (this.#size === 0) return false;
    if (this.#lines.has(owner) || this.#turns.get(roomOf(item))?.hasWaiting) return true;
    return [...this.#turns.values()].some(({ isFull, hasWaiting }) => !isFull && hasWaiting);
  }

  *[Symbol.iterator](): Generator<QueueEntry<T>> {
    for (const { places } of [...this.#lines.values()])
      for (let link = places.first; link; link = link.after) yield link.value;
  }

  #leave(place: QueueEntry<T>, turn: number): void {
    const { line, link } = place;
    if (!link) return;
    const wasFirst = line.places.first === link;
    line.places.remove(link);
    place.link = undefined;
    this.#size--;
    if (line.places.size === 0) this.#end(line);
    else if (wasFirst) {
      exit(line);
      line.turn = turn;
      if (!line.held) this.#enter(line);
    }
  }

  #end(line: OwnerQueue<T>): void {
    exit(line);
    this.#held.delete(line);
    this.#lines.delete(line.owner);
    if (this.#size > 0) return;
    // Nobody waits: what was known to be full is forgotten.
    this.#full = false;
    this.#turns.clear();
  }

  #keep(line: OwnerQueue<T>): void {
    line.held = true;
    this.#held.add(line);
  }

  #enter(line: OwnerQueue<T>): void {
    const first = line.places.first?.value.item;
    const room = first ? roomOf(first) : '';
    this.#turnsAt(room).enter(line, line.outsideOf === room);
  }

  /** Excludes the owner until a VM has capacity for it. Others continue because they may already have a VM. */
  #shutOut(line: OwnerQueue<T>, room: string): void {
    line.outsideOf = room;
    this.#turnsAt(room).isPoolFull = true;
    this.#enter(line);
  }

  #turnsAt(room: string): OwnerRotation<OwnerQueue<T>> {
    const turns = this.#turns.get(room) ?? new OwnerRotation<OwnerQueue<T>>();
    this.#turns.set(room, turns);
    return turns;
  }
}

/** Demands share so many rotations of a provider, so that their number stays bounded. */
const ROOMS = 64;

/** The name of the rotation of an item: one for its provider, and others for those that demand certain workers. */
export function roomOf({ provider, demand }: Omit<Waiting, 'owner'>): string {
  if (demand === undefined) return provider;
  let hash = 0;
  for (const char of demand) hash = (hash * 31 + (char.codePointAt(0) ?? 0)) % 1_000_003;
  return `${provider} ${hash % ROOMS}`;
}

const providerOf = (room: string) => room.split(' ', 1)[0];
