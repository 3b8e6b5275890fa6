// Whose turn it is: first come first served within an owner, round robin between owners. Owners whose next one does not
// fit are passed over and keep their turn. Nothing here costs more with a longer queue.
import { Chain, type Link } from './chain.ts';

export interface Waiting {
  /** Empty without an owner: these are a line like any other. */
  owner: string;
  provider: string;
}

/** What the one whose turn it was lacked: any place at all, one for its owner, one at its provider. */
export type Lack = 'all' | 'owner' | 'provider';

/** One who waits; a handle to leave by. */
export interface Place<T> {
  readonly item: T;
  readonly line: Line<T>;
  link: Link<Place<T>> | undefined;
}

interface Line<T> {
  readonly owner: string;
  readonly places: Chain<Place<T>>;
  /** The lower, the sooner. */
  turn: number;
  /** Among the lines whose first one wants the same provider; undefined while the owner has no room. */
  at: { ring: Ring<T>; link: Link<Line<T>> } | undefined;
  held: boolean;
}

interface Ring<T> {
  /** By turn. */
  readonly lines: Chain<Line<T>>;
  full: boolean;
}

export class FairQueue<T extends Waiting> {
  readonly #lines = new Map<string, Line<T>>();
  readonly #rings = new Map<string, Ring<T>>();
  #full = false;
  #size = 0;
  #turn = 0;

  get size(): number {
    return this.#size;
  }

  /** Behind the others of its owner; a new owner behind all others. */
  add(item: T): Place<T> {
    const known = this.#lines.get(item.owner);
    const line: Line<T> = known ?? {
      ...{ owner: item.owner, places: new Chain(), turn: ++this.#turn, at: undefined, held: false },
    };
    const place: Place<T> = { item, line, link: undefined };
    place.link = line.places.append(place);
    this.#size++;
    if (!known) {
      this.#lines.set(item.owner, line);
      this.#enter(line);
    }
    return place;
  }

  /** The one whose turn it is, of those that nothing is known to be lacking; it stays where it is. */
  next(): Place<T> | undefined {
    if (this.#full) return undefined;
    let soonest: Line<T> | undefined;
    for (const { lines, full } of this.#rings.values()) {
      const line = full ? undefined : lines.first?.value;
      if (line && (!soonest || line.turn < soonest.turn)) soonest = line;
    }
    return soonest?.places.first?.value;
  }

  /** It got its place: its owner goes behind all others. */
  served(place: Place<T>): void {
    this.#leave(place, ++this.#turn);
  }

  /** It waits no more; its owner keeps its turn. Harmless for one who has left. */
  remove(place: Place<T>): void {
    this.#leave(place, place.line.turn);
  }

  /** `place` was next and did not fit: nobody who would lack the same is next until it is freed. */
  hold({ line, item }: Place<T>, lack: Lack): void {
    if (lack === 'all') this.#full = true;
    else if (lack === 'provider') this.#ring(item.provider).full = true;
    else {
      line.held = true;
      this.#exit(line);
    }
  }

  /** A place was freed that was this owner's, at this provider. */
  freed({ owner, provider }: Waiting): void {
    this.#full = false;
    this.#ring(provider).full = false;
    this.release(owner);
  }

  /** What this owner may have has changed. */
  release(owner: string): void {
    const line = this.#lines.get(owner);
    if (!line?.held) return;
    line.held = false;
    this.#enter(line);
  }

  /** Whether a newcomer would overtake somebody: its own owner's, or one who is only waiting for a turn. */
  mustWait({ owner, provider }: Waiting): boolean {
    if (this.#size === 0) return false;
    if (this.#lines.has(owner) || this.#ring(provider).lines.size > 0) return true;
    return [...this.#rings.values()].some(({ lines, full }) => !full && lines.size > 0);
  }

  *[Symbol.iterator](): Generator<Place<T>> {
    for (const { places } of [...this.#lines.values()])
      for (let link = places.first; link; link = link.after) yield link.value;
  }

  #leave(place: Place<T>, turn: number): void {
    const { line, link } = place;
    if (!link) return;
    const wasFirst = line.places.first === link;
    line.places.remove(link);
    place.link = undefined;
    this.#size--;
    if (line.places.size === 0) this.#end(line);
    else if (wasFirst) {
      this.#exit(line);
      line.turn = turn;
      if (!line.held) this.#enter(line);
    }
  }

  #end(line: Line<T>): void {
    this.#exit(line);
    this.#lines.delete(line.owner);
    if (this.#size > 0) return;
    // Nobody waits: what was known to be full is forgotten.
    this.#full = false;
    this.#rings.clear();
  }

  /** In the order of turns. Only lines that were held have a turn older than the last: the walk is over those. */
  #enter(line: Line<T>): void {
    const ring = this.#ring(line.places.first?.value.item.provider ?? '');
    let after = ring.lines.first;
    if (ring.lines.last && ring.lines.last.value.turn < line.turn) after = undefined;
    while (after && after.value.turn < line.turn) after = after.after;
    line.at = { ring, link: ring.lines.insert(line, after) };
  }

  #exit(line: Line<T>): void {
    line.at?.ring.lines.remove(line.at.link);
    line.at = undefined;
  }

  #ring(provider: string): Ring<T> {
    const ring = this.#rings.get(provider) ?? { lines: new Chain(), full: false };
    this.#rings.set(provider, ring);
    return ring;
  }
}
