// A doubly linked list with constant-time access to its ends and to any known node.

export interface ListNode<T> {
  readonly value: T;
  before: ListNode<T> | undefined;
  after: ListNode<T> | undefined;
}

export class LinkedList<T> {
  first: ListNode<T> | undefined;
  last: ListNode<T> | undefined;
  size = 0;

  append(value: T): ListNode<T> {
    return this.insert(value, undefined);
  }

  /** Before `after`, which is a link of this chain; undefined: at the end. */
  insert(value: T, after: ListNode<T> | undefined): ListNode<T> {
    const before = after ? after.before : this.last;
    const link: ListNode<T> = { value, before, after };
    if (before) before.after = link;
    else this.first = link;
    if (after) after.before = link;
    else this.last = link;
    this.size++;
    return link;
  }

  remove(link: ListNode<T>): void {
    const { before, after } = link;
    if (before) before.after = after;
    else this.first = after;
    if (after) after.before = before;
    else this.last = before;
    this.size--;
  }
}
