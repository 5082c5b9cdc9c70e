import type { Lease } from '@payonce/leases';
import { systemClock } from '@payonce/leases/clock';
import { errorText } from '@payonce/leases/error-text';
import { noTelemetry, partMetric } from '@payonce/leases/telemetry';
import type { Instance } from '../instance.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { OutboxMessage } from './outboxMessage.ts';
import type { OutboxStore } from './outboxStore.ts';

/** Messages that are read and sent at once. */
const pageSize = 100;

export interface SweepCounts {
  dispatched: number;
  retried: number;
  parked: number;
  /** Partitions that were left out, each with the reason. The next sweep tries them again. */
  failed: readonly string[];
}

export interface SweepParts {
  outbox: Pick<OutboxStore, 'due' | 'oldestPending'>;
  dispatcher: Dispatcher;
  /** All partitions, read one by one if a read over all of them fails. Absent: the sweep rejects then. */
  partitions?: readonly string[];
  /** Default: the system's clock, and no telemetry. */
  instance?: Partial<Pick<Instance, 'clock' | 'telemetry'>>;
}

/** Place to read the next page: one partition, or all of them. */
interface Source {
  shard?: string;
}

/**
 * Dispatches what inline dispatch left behind: messages of instances that died, or whose send failed. Ends when nothing is
 * due, or when `signal` aborts: the next sweep goes on.
 *
 * The longest waiting go first, and none holds up what is behind it: messages that come again because they could not be marked are
 * left to the next sweep with their partition, and so is a destination that took nothing of a page, with all that waits for it.
 *
 * @throws {LeaseLost} its lease is gone
 */
export async function sweepOutbox(
  { outbox, dispatcher, partitions = [], instance = {} }: SweepParts,
  lease: Pick<Lease, 'assertHeld'>,
  signal?: AbortSignal,
): Promise<SweepCounts> {
  const { clock = systemClock, telemetry = noTelemetry } = instance;
  const counts = { dispatched: 0, retried: 0, parked: 0 };
  const failed = new Map<string, string>();
  const away = new Set<string>();
  /** Tries of each message when it was last read here. */
  const seen = new Map<string, number>();
  await oldestPendingMs(outbox, clock.now()).then(
    (ms) => telemetry.record(partMetric.outboxOldestMs, ms),
    () => {
      // The first page fails too, and says why.
    },
  );
  let sources: Source[] = [{}];
  for (;;) {
    const [source, ...others] = sources;
    if (source === undefined || signal?.aborted === true) break;
    lease.assertHeld();
    const page = await read(source);
    if (page === undefined) {
      sources = source.shard === undefined ? partitions.map((shard) => ({ shard })) : others;
      continue;
    }
    const unmarked = page.messages.filter(({ id, attempts }) => seen.get(id) === attempts);
    const fresh = page.messages.filter((message) => !unmarked.includes(message));
    const leftOut = failed.size;
    for (const { shard } of unmarked) failed.set(shard, 'its messages could not be marked');
    await dispatchAll(fresh);
    const isNew = fresh.length > 0 || failed.size > leftOut;
    // By turns: no partition waits until another has nothing left.
    sources = page.more && isNew ? [...others, source] : others;
  }
  return { ...counts, failed: [...failed].map(([shard, why]) => `shard ${shard}: ${why}`) };

  /** Undefined if the source could not be read, and is left out. */
  async function read({ shard }: Source) {
    const now = new Date(clock.now()).toISOString();
    const except = { shards: [...failed.keys()], destinations: [...away] };
    if (shard !== undefined && failed.has(shard)) return undefined;
    try {
      const place = shard === undefined ? {} : { shard };
      return await outbox.due({ now, limit: pageSize, except, ...place });
    } catch (error) {
      if (shard !== undefined) failed.set(shard, errorText(error));
      else if (partitions.length === 0) throw error;
      return undefined;
    }
  }

  async function dispatchAll(messages: readonly OutboxMessage[]): Promise<void> {
    const taken = new Set<string>();
    for (const { id, attempts } of messages) seen.set(id, attempts);
    await Promise.all(
      messages.map(async (message) => {
        const { kind } = await dispatcher.dispatch(message);
        counts[kind === 'retry' ? 'retried' : kind]++;
        if (kind !== 'retry') taken.add(message.destination);
      }),
    );
    for (const { destination } of messages) if (!taken.has(destination)) away.add(destination);
  }
}

/** Age of the oldest message that waits to be dispatched at `now` (ms); 0 if none waits. */
export async function oldestPendingMs(
  outbox: Pick<OutboxStore, 'oldestPending'>,
  now: number,
): Promise<number> {
  const since = await outbox.oldestPending();
  return since === undefined ? 0 : Math.max(0, now - Date.parse(since));
}
