import { StoreAway } from '@payonce/jobs/documents';
import type { Instance } from '@payonce/jobs/instance';
import type { Pacer } from '@payonce/jobs/rate';
import { type WorkItem, workItemMessages } from '@payonce/jobs/work-items';
import type { Lease } from '@payonce/leases';
import pLimit from 'p-limit';
import {
  noTurn,
  turnWithinMs,
  type EventPage,
  type EventQuery,
  type ProviderEvent,
  type ProviderEvents,
} from '../paying/paymentProvider.ts';
import { metric } from '../platform/appMetrics.ts';
import { eventItem } from './eventStage.ts';

/** Time up to which the provider's list of events has been read, in seconds since the epoch on the provider's clock. */
export interface EventCursor {
  /** Undefined: nothing has been read yet. May reject with `StoreAway`. */
  read(): Promise<number | undefined>;
  /** Moves it on, unless somebody else has moved it since it was read as `from`. May reject with `StoreAway`. */
  advance(from: number | undefined, to: number): Promise<void>;
}

/** All in seconds, on the provider's clock. */
const hour = 3_600;
/** Overlap of two reads of the list: nobody promises that an event is listed the moment it happens. */
const overlap = 120;
/** Stripe lists events for 30 days (https://docs.stripe.com/api/events): the first look goes back as far. */
const kept = 30 * 24 * hour;
/** With a webhook: how often the list is read, and how much time the webhook has to bring an event. */
const lookEvery = hour;
const deliveredWithin = 600;
/** Events that are asked about side by side. */
const asked = 16;
/** A backlog is read in parts of this length, so that a failure costs no more than one of them. */
const part = hour;

/** Outcome of a tick. `notListed`: why the provider gave no list; the next tick begins where this one did. */
export interface EventsRead {
  queued: number;
  notListed?: string;
}

export interface EventListParts {
  events: ProviderEvents;
  cursor: EventCursor;
  send: (text: string) => Promise<void>;
  /** For every page. While payments are paused none has a turn. */
  pacer: Pick<Pacer, 'turn'>;
  /**
   * True for an event that the webhook has brought and that has been looked into. The list is then read once an hour, for the
   * others. Absent: there is no webhook, and the list is read at every tick.
   */
  isDone?: (item: WorkItem) => Promise<boolean>;
  instance: Pick<Instance, 'clock' | 'telemetry' | 'log'>;
}

type PartRead =
  | { kind: 'read'; events: ProviderEvent[]; latest: number }
  /** There is more than a page: a backlog, up to this time. */
  | { kind: 'more'; latest: number }
  | { kind: 'notListed'; message: string };

/**
 * Creates the reader of the provider's list of events: what happened since the last tick goes to the queue, as if it had been
 * delivered, and then the cursor follows. Beside a webhook each process reads once an hour what that should have brought.
 *
 * More than a page is read in parts. A part ends before the newest listed event: one that ended in the future of the provider's
 * clock would hide what happens until then.
 */
export function createReadEventList({
  events,
  cursor,
  send,
  pacer,
  isDone,
  instance: { clock, telemetry, log },
}: EventListParts): (lease: Pick<Lease, 'assertHeld'>, signal: AbortSignal) => Promise<EventsRead> {
  /** Events that this process has sent, for as long as they are listed again. */
  let sent = new Set<string>();
  /** The last complete look of this process, on the monotonic clock. */
  let lookedAt = Number.NEGATIVE_INFINITY;

  return async (lease, signal) => {
    let queued = 0;
    if (isDone !== undefined && clock.monotonic() - lookedAt < lookEvery * 1000) return { queued };
    try {
      const now = Math.floor(clock.now() / 1000);
      let before = await cursor.read();
      let readUntil = before ?? now - kept;
      const end = isDone === undefined ? undefined : now - deliveredWithin;
      let newest: number | undefined;
      while (!signal.aborted) {
        const from = Math.max(readUntil - overlap, now - kept);
        const isPart = newest !== undefined && from + overlap + part < newest;
        const until = isPart ? from + overlap + part : end;
        const query = until === undefined ? { from } : { from, until };
        const read = await readPart(query, newest === undefined);
        if (read.kind === 'notListed') return notListed(queued, read.message);
        if (read.kind === 'more') {
          newest = read.latest;
          continue;
        }
        lease.assertHeld();
        queued += await sendNew(read.events);
        readUntil = isPart && until !== undefined ? until : Math.max(readUntil, read.latest);
        if (readUntil !== before) await cursor.advance(before, readUntil);
        before = readUntil;
        if (!isPart) break;
      }
      if (!signal.aborted) lookedAt = clock.monotonic();
      return { queued };
    } catch (error) {
      if (!(error instanceof StoreAway)) throw error;
      return notListed(queued, error.message);
    }
  };

  function notListed(queued: number, message: string): EventsRead {
    telemetry.count(metric.paymentEvent, { outcome: 'notListed' });
    log(`the events of the payment provider cannot be read: ${message}`);
    return { queued, notListed: message };
  }

  /** All pages of a part: the newest come first, so only the last page says that it is complete. */
  async function readPart(query: EventQuery, isFirst: boolean): Promise<PartRead> {
    const found: ProviderEvent[] = [];
    let latest = query.from;
    let after: string | undefined;
    for (;;) {
      const page = await list({ ...query, ...(after === undefined ? {} : { after }) });
      if (page.kind !== 'page') return { kind: 'notListed', message: page.message };
      found.push(...page.events);
      latest = Math.max(latest, page.latest ?? 0);
      after = page.next;
      if (after === undefined) return { kind: 'read', events: found.toReversed(), latest };
      if (isFirst) return { kind: 'more', latest };
    }
  }

  async function list(query: EventQuery): Promise<EventPage | { kind: 'away'; message: string }> {
    const turn = await pacer.turn(clock.monotonic() + turnWithinMs, 'last');
    if (turn === undefined) return { kind: 'away', message: noTurn };
    const page = await events.list(query);
    if (page.kind === 'rateLimited' && page.overRate) turn.refused(page.retryAfterMs);
    else turn.answered();
    return page.kind === 'page' ? page : { kind: 'away', message: page.message };
  }

  /** Sends what was not sent before and nobody else has brought, oldest first. */
  async function sendNew(listed: readonly ProviderEvent[]): Promise<number> {
    const fresh = listed.filter(({ eventId }) => !sent.has(eventId)).map(eventItem);
    const limit = pLimit(asked);
    const done = await Promise.all(fresh.map((item) => limit(async () => (await isDone?.(item)) === true)));
    const missing = fresh.filter((_, index) => done[index] !== true);
    try {
      for (const message of workItemMessages(missing)) await send(JSON.stringify(message));
    } catch (cause) {
      throw new StoreAway('noAnswer', cause);
    }
    sent = new Set(listed.map(({ eventId }) => eventId));
    const outcome = isDone === undefined ? 'listed' : 'missed';
    if (missing.length > 0) telemetry.count(metric.paymentEvent, { outcome }, missing.length);
    return missing.length;
  }
}
