/** A binary heap, smallest key first. */
export class MinHeap<T> {
  readonly #keyOf: (item: T) => number;
  #items: T[] = [];

  constructor(keyOf: (item: T) => number) {
    this.#keyOf = keyOf;
  }

  get size(): number {
    return this.#items.length;
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    this.#items.push(item);
    this.#siftUp(this.#items.length - 1);
  }

  pop(): T | undefined {
    const first = this.#items[0];
    const last = this.#items.pop();
    if (last !== undefined && this.#items.length > 0) {
      this.#items[0] = last;
      this.#siftDown(0);
    }
    return first;
  }

  /** Drops the items for which `keep` is false. */
  retain(keep: (item: T) => boolean): void {
    const kept = this.#items.filter(keep);
    // A sorted array is a valid heap.
    this.#items = kept.sort((a, b) => this.#keyOf(a) - this.#keyOf(b));
  }

  #siftUp(start: number): void {
    for (let at = start; at > 0;) {
      const parent = (at - 1) >> 1;
      if (!this.#swapIfLess(at, parent)) return;
      at = parent;
    }
  }

  #siftDown(start: number): void {
    for (let at = start; ;) {
      const left = 2 * at + 1;
      const right = left + 1;
      const child = this.#less(right, left) ? right : left;
      if (!this.#swapIfLess(child, at)) return;
      at = child;
    }
  }

  #less(a: number, b: number): boolean {
    const first = this.#items[a];
    const second = this.#items[b];
    return first !== undefined && second !== undefined && this.#keyOf(first) < this.#keyOf(second);
  }

  #swapIfLess(a: number, b: number): boolean {
    const first = this.#items[a];
    const second = this.#items[b];
    if (first === undefined || second === undefined || this.#keyOf(first) >= this.#keyOf(second))
      return false;
    this.#items[a] = second;
    this.#items[b] = first;
    return true;
  }
}
