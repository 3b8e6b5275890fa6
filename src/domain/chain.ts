// A doubly linked list: the ends and any known link in constant time, which no array and no Set has.

export interface Link<T> {
  readonly value: T;
  before: Link<T> | undefined;
  after: Link<T> | undefined;
}

export class Chain<T> {
  first: Link<T> | undefined;
  last: Link<T> | undefined;
  size = 0;

  append(value: T): Link<T> {
    return this.insert(value, undefined);
  }

  /** Before `after`, which is a link of this chain; undefined: at the end. */
  insert(value: T, after: Link<T> | undefined): Link<T> {
    const before = after ? after.before : this.last;
    const link: Link<T> = { value, before, after };
    if (before) before.after = link;
    else this.first = link;
    if (after) after.before = link;
    else this.last = link;
    this.size++;
    return link;
  }

  /** `link` is in this chain. */
  remove(link: Link<T>): void {
    const { before, after } = link;
    if (before) before.after = after;
    else this.first = after;
    if (after) after.before = before;
    else this.last = before;
    this.size--;
  }
}
