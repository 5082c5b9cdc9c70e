import type { DemoEvent } from './demoState.ts';

/** Something that happened in the demo. */
export interface WorldEvent extends DemoEvent {
  /** The switch, or the host, that this begins or ends something for. Absent: it is over as it happens. */
  of?: string;
  /** True if it begins. */
  begins?: boolean;
}

/** Sources of a story. */
export interface StoryParts {
  /** Before the demo first sent the invoice (ISO 8601, by the machine's clock). */
  sentAt: string;
  /** As the invoice keeps it, by the clocks of the hosts. */
  timeline: readonly DemoEvent[];
  /** By the machine's clock: messages and calls in the hosts, charges in the ledger. */
  seen: readonly DemoEvent[];
  /** All events of the world, in order. */
  world: readonly WorldEvent[];
  /** True while something is still to come. */
  goesOn: boolean;
  /** Offset of a host's clock that was set back (ms). */
  clockBackMs: number;
}

/**
 * Events of an invoice, with every fault that touched it, in order: those that happened between its first event and its last one,
 * or until now while it goes on, and the beginnings of those that had not ended by its first. Pure.
 */
export function storyOf({ sentAt, timeline, seen, world, goesOn, clockBackMs }: StoryParts): DemoEvent[] {
  const own = inOrder([
    ...timeline.map((event) => (event.at < sentAt ? byRightClock(event, clockBackMs) : event)),
    ...seen,
  ]);
  const first = own[0]?.at ?? sentAt;
  const last = goesOn ? undefined : own.at(-1)?.at;
  const inForce = new Map<string, DemoEvent>();
  for (const event of world) {
    if (event.of === undefined || event.at >= first) continue;
    if (event.begins) inForce.set(event.of, event);
    else inForce.delete(event.of);
  }
  const between = world.filter(({ at }) => at >= first && (last === undefined || at <= last));
  return inOrder([...inForce.values(), ...own, ...between]).map(({ at, what, by = '' }) => ({
    at,
    what,
    by,
  }));
}

/** Nothing happened to an invoice before it was sent, so the clock of the host was back. */
function byRightClock({ at, what, by = '' }: DemoEvent, clockBackMs: number): DemoEvent {
  const right = new Date(Date.parse(at) - clockBackMs).toISOString();
  return { at: right, what: `${what}, by a clock that was two hours back`, by };
}

function inOrder(events: readonly DemoEvent[]): DemoEvent[] {
  return events.toSorted((one, other) => one.at.localeCompare(other.at));
}
