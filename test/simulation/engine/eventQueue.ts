/** Something that happens at a time of the simulation. */
export interface Event {
  /** Milliseconds since the epoch, on the simulation's own clock. */
  readonly time: number;
  readonly sequence: number;
  /** Undefined once it is cancelled or has happened. */
  fire: (() => void) | undefined;
}

/** Events in the order of their time; those of the same time in the order in which they were added. A binary heap. */
export interface EventQueue {
  add(time: number, fire: () => void): Event;
  /** The next event that is not cancelled; undefined if there is none. */
  take(): Event | undefined;
  readonly size: number;
}

export function eventQueue(): EventQueue {
  const heap: Event[] = [];
  let sequence = 0;

  function isBefore(one: Event, other: Event): boolean {
    return one.time === other.time ? one.sequence < other.sequence : one.time < other.time;
  }

  function push(event: Event): void {
    let place = heap.push(event) - 1;
    while (place > 0) {
      const above = (place - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || !isBefore(event, parent)) break;
      heap[place] = parent;
      place = above;
    }
    heap[place] = event;
  }

  function pop(): Event | undefined {
    const first = heap[0];
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return first;
    let place = 0;
    for (;;) {
      let below = 2 * place + 1;
      let child = heap[below];
      if (child === undefined) break;
      const right = heap[below + 1];
      if (right !== undefined && isBefore(right, child)) {
        child = right;
        below++;
      }
      if (!isBefore(child, last)) break;
      heap[place] = child;
      place = below;
    }
    heap[place] = last;
    return first;
  }

  return {
    add(time, fire) {
      const event: Event = { time, sequence: sequence++, fire };
      push(event);
      return event;
    },
    take() {
      for (let event = pop(); event !== undefined; event = pop()) {
        if (event.fire !== undefined) return event;
      }
      return undefined;
    },
    get size() {
      return heap.length;
    },
  };
}
