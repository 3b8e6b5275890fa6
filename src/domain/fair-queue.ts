// Whose turn it is: first come first served within an owner, round robin between owners. Owners whose next one does not
// fit are passed over and keep their turn. Nothing here costs more with a longer queue.
import { LinkedList, type ListNode } from './linked-list.ts';
import { exit, OwnerRotation, type OwnerTurn } from './owner-rotation.ts';

export interface Waiting {
  /** Empty without an owner: these are a line like any other. */
  owner: string;
  provider: string;
}

/**
 * What the one whose turn it was lacked: any place at all, one for its owner, one at its provider, one in a VM of the pool
 * for an owner that has none there.
 */
export type MissingCapacity = 'all' | 'owner' | 'provider' | 'pool';

/** One who waits; a handle to leave by. */
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
  /** The provider where the owner has no place in any VM of the pool; which others have is not known here. */
  outsideOf: string | undefined;
}

export class FairQueue<T extends Waiting> {
  readonly #lines = new Map<string, OwnerQueue<T>>();
  readonly #turns = new Map<string, OwnerRotation<OwnerQueue<T>>>();
  #full = false;
  #size = 0;
  #turn = 0;

  get size(): number {
    return this.#size;
  }

  /** Behind the others of its owner; a new owner behind all others. */
  add(item: T): QueueEntry<T> {
    const known = this.#lines.get(item.owner);
    const line: OwnerQueue<T> = known ?? {
      ...{ owner: item.owner, places: new LinkedList(), turn: ++this.#turn },
      ...{ at: undefined, held: false, outsideOf: undefined },
    };
    const place: QueueEntry<T> = { item, line, link: undefined };
    place.link = line.places.append(place);
    this.#size++;
    if (!known) {
      this.#lines.set(item.owner, line);
      this.#enter(line);
    }
    return place;
  }

  /**
   * The newest of the owner with the most waiting, where it has so many that `owner` would still have fewer with one more.
   * Those without an owner are no owner that could have too many.
   */
  crowder(owner: string): QueueEntry<T> | undefined {
    let most: OwnerQueue<T> | undefined;
    for (const line of this.#lines.values())
      if (line.owner !== '' && line.places.size > (most?.places.size ?? 0)) most = line;
    const own = this.#lines.get(owner)?.places.size ?? 0;
    return most && most.places.size > own + 1 ? most.places.last?.value : undefined;
  }

  /** The one whose turn it is, of those that nothing is known to be lacking; it stays where it is. */
  next(): QueueEntry<T> | undefined {
    if (this.#full) return undefined;
    let soonest: OwnerQueue<T> | undefined;
    for (const turns of this.#turns.values()) {
      const line = turns.next();
      if (line && (!soonest || line.turn < soonest.turn)) soonest = line;
    }
    return soonest?.places.first?.value;
  }

  /** It got its place: its owner goes behind all others. */
  served(place: QueueEntry<T>): void {
    place.line.outsideOf = undefined;
    this.#leave(place, ++this.#turn);
  }

  /** It waits no more; its owner keeps its turn. Harmless for one who has left. */
  remove(place: QueueEntry<T>): void {
    this.#leave(place, place.line.turn);
  }

  /** `place` was next and did not fit: nobody who would lack the same is next until it is freed. */
  hold({ line, item }: QueueEntry<T>, lack: MissingCapacity): void {
    if (lack === 'all') this.#full = true;
    else if (lack === 'provider') this.#turnsAt(item.provider).isFull = true;
    else {
      exit(line);
      if (lack === 'owner') line.held = true;
      else this.#shutOut(line, item.provider);
    }
  }

  /** A place was freed that was this owner's, at this provider. */
  freed({ owner, provider }: Waiting): void {
    this.#full = false;
    this.#turnsAt(provider).freed();
    this.release(owner);
  }

  /** What this owner may have has changed. */
  release(owner: string): void {
    const line = this.#lines.get(owner);
    if (!line?.held) return;
    line.held = false;
    this.#enter(line);
  }

  /** What all may have has changed: whoever was passed over is asked again. */
  releaseAll(): void {
    this.#full = false;
    for (const turns of this.#turns.values()) turns.freed();
    for (const owner of this.#lines.keys()) this.release(owner);
  }

  /** Whether a newcomer would overtake somebody: its own owner's, or one who is only waiting for a turn. */
  mustWait({ owner, provider }: Waiting): boolean {
    if (this.#size === 0) return false;
    if (this.#lines.has(owner) || this.#turnsAt(provider).hasWaiting) return true;
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
    this.#lines.delete(line.owner);
    if (this.#size > 0) return;
    // Nobody waits: what was known to be full is forgotten.
    this.#full = false;
    this.#turns.clear();
  }

  #enter(line: OwnerQueue<T>): void {
    const provider = line.places.first?.value.item.provider ?? '';
    this.#turnsAt(provider).enter(line, line.outsideOf === provider);
  }

  /** Until a VM has room for its owner; the others go on, since some may have a place in one. */
  #shutOut(line: OwnerQueue<T>, provider: string): void {
    line.outsideOf = provider;
    this.#turnsAt(provider).isPoolFull = true;
    this.#enter(line);
  }

  #turnsAt(provider: string): OwnerRotation<OwnerQueue<T>> {
    const turns = this.#turns.get(provider) ?? new OwnerRotation<OwnerQueue<T>>();
    this.#turns.set(provider, turns);
    return turns;
  }
}
