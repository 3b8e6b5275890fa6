// Slots that several holders share. A lone holder, or callers without a name, may take all. When all slots are in use,
// a new holder with fewer slots gets the newest slot of the holder with the most, so that holders get equal shares.
import { LinkedList, type ListNode } from './linked-list.ts';

interface Taken {
  isHeld: boolean;
  evict(): void;
}

export class SharedSlots {
  readonly #most: number;
  readonly #taken = new Map<string, LinkedList<Taken>>();
  #size = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /**
   * Returns a function that releases the slot, once; undefined if no slot is free. `evict` runs when another holder
   * gets the slot, which is released by then.
   */
  take(holder: string | undefined, evict: () => void): (() => void) | undefined {
    const name = holder === undefined ? '' : `=${holder}`;
    if (this.#size >= this.#most && !this.#evictFor(name)) return undefined;
    const own = this.#taken.get(name) ?? new LinkedList<Taken>();
    this.#taken.set(name, own);
    const link = own.append({ isHeld: true, evict });
    this.#size += 1;
    return () => this.#leave(name, link);
  }

  #evictFor(name: string): boolean {
    const own = this.#taken.get(name)?.size ?? 0;
    const crowder = this.#crowder();
    const newest = crowder?.places.last;
    // Moving one slot would only change which holder has the most.
    if (!crowder || !newest || crowder.places.size <= own + 1) return false;
    this.#leave(crowder.name, newest);
    newest.value.evict();
    return true;
  }

  /** The holder with the most slots. Callers without a name have no share to exceed. */
  #crowder(): { name: string; places: LinkedList<Taken> } | undefined {
    let most: { name: string; places: LinkedList<Taken> } | undefined;
    for (const [name, places] of this.#taken)
      if (name !== '' && places.size > (most?.places.size ?? 0)) most = { name, places };
    return most;
  }

  #leave(name: string, link: ListNode<Taken>): void {
    const own = this.#taken.get(name);
    if (!own || !link.value.isHeld) return;
    link.value.isHeld = false;
    own.remove(link);
    this.#size -= 1;
    if (own.size === 0) this.#taken.delete(name);
  }
}
