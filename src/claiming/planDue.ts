/**
 * The order in which one group claims what is due: longest waiting first over all its shards, for as long as there is room.
 * While more is due than can be paid, every second batch leaves out the customer or currency with most of the latest
 * claims, or takes from the least served shard, so that a flood of one does not hold up the others.
 */
import type { Invoice } from '../invoice/invoice.ts';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import type { ClaimRoom } from '../pacing/claimRoom.ts';
import { type HeadBoard, letsOthersFirst } from '../pacing/headBoard.ts';
import type { Clock } from '../platform/clock.ts';
import { errorText } from '../platform/errorText.ts';
import { Pause } from '../runs/job.ts';
import { createFairShare, type LeftOut, nobody } from './fairShare.ts';

/** Invoices of one shard to be claimed together, or why a shard could not be read. */
export type ClaimWork =
  | {
      kind: 'claim';
      shard: string;
      invoices: readonly Invoice[];
      /** The shard takes no claims: it is left out for a while. */
      leaveOut: () => void;
    }
  | { kind: 'unreadable'; error: string };

export interface DueParts {
  invoices: Pick<InvoiceStore, 'due'>;
  clock: Clock;
  room: ClaimRoom;
  heads: HeadBoard;
}

export interface DuePolicy {
  group: string;
  shards: readonly string[];
  pageSize: number;
  /** What of a page goes into one batch with its first invoice: at most `size`. */
  cut: (page: readonly Invoice[], size: number) => readonly Invoice[];
}

/** How long to wait for room, or for other groups, in milliseconds. */
const pauseMs = 1_000;

/** A page that was read longer ago than this, in milliseconds, is read again: others may be due, or longer, by now. */
const freshMs = 15_000;

/** How long a shard that failed is left out, in milliseconds, before it is tried again. */
const leftOutMs = 30_000;

/**
 * Plans until nothing is due. What is read is claimed conditionally, so an old page does no harm. A shard that cannot be
 * read or claimed in is left out for a while, and the others go on. A run does not wait for it: the next one has it, too.
 */
export async function* planDue(parts: DueParts, policy: DuePolicy): AsyncGenerator<ClaimWork | Pause> {
  const { clock, room, heads } = parts;
  const share = createFairShare();
  /** Shards that failed, and until when they are left out (monotonic). */
  const failed = new Map<string, number>();
  let batches = 0;
  let waited: boolean;
  do {
    waited = false;
    let readers = readersOf(nobody);
    let fair: Reader[][] = [];
    for (;;) {
      for (const reader of [readers, ...fair].flat()) {
        if (!takesPart(reader)) continue;
        const error = await reader.refill();
        if (error === undefined) continue;
        leaveOut(reader.shard);
        yield { kind: 'unreadable', error: `shard ${reader.shard}: ${error}` };
      }
      const oldest = first(readers.filter(takesPart), ({ head }) => head?.actionableAt ?? '');
      if (oldest?.head?.actionableAt === undefined) break;
      const size = await room.batch();
      if (size === 0 || (room.crowded() && (await othersAreFirst(oldest.head.actionableAt)))) {
        waited = true;
        yield new Pause(pauseMs);
        readers = readersOf(nobody, readers);
        fair = fairReaders(readers, fair);
        continue;
      }
      const turns = fair.map(leastClaimed).filter((one) => one !== undefined);
      const reader = (batches++ % 2 === 1 ? turns[(batches >> 1) % turns.length] : undefined) ?? oldest;
      const { shard } = reader;
      const taken = reader.take(size);
      for (const other of [readers, ...fair].flat()) other.drop(taken);
      room.taken(taken.length);
      share.add(shard, taken);
      yield { kind: 'claim', shard, invoices: taken, leaveOut: () => leaveOut(shard) };
    }
  } while (waited);

  function takesPart({ shard }: { shard: string }): boolean {
    return clock.monotonic() >= (failed.get(shard) ?? Number.NEGATIVE_INFINITY);
  }

  function leaveOut(shard: string): void {
    failed.set(shard, clock.monotonic() + leftOutMs);
  }

  function readersOf(except: LeftOut, before: readonly Reader[] = []): Reader[] {
    const byShard = new Map(before.map((reader) => [reader.shard, reader]));
    return policy.shards
      .filter((shard) => takesPart({ shard }))
      .map((shard) => {
        const reader = byShard.get(shard);
        const isFresh = reader !== undefined && clock.monotonic() - reader.readAt < freshMs;
        return isFresh ? reader : createReader(parts, policy, shard, except);
      });
  }

  /** The readers that take turns with the oldest while there is a flood. */
  function fairReaders(all: Reader[], before: readonly Reader[][]): Reader[][] {
    const without = share.leaveOut().map((except) => {
      const same = before.find(([one]) => JSON.stringify(one?.except) === JSON.stringify(except));
      return readersOf(except, same);
    });
    return [...without, ...(share.oneShard() ? [all] : [])];
  }

  function leastClaimed(readers: readonly Reader[]): Reader | undefined {
    return first(readers.filter(takesPart), ({ shard }) => share.ofShard(shard));
  }

  async function othersAreFirst(since: string): Promise<boolean> {
    const own = { since, at: clock.now() };
    // If nobody can be asked, nobody is waited for.
    const all = await heads.tell(policy.group, own).catch(() => []);
    return letsOthersFirst(own, all);
  }
}

/** What is due in one shard, longest waiting first. */
interface Reader {
  readonly shard: string;
  readonly except: LeftOut;
  readonly readAt: number;
  readonly head: Invoice | undefined;
  /** Reads the next page if there is nothing left of the last. Returns why it could not. */
  refill(): Promise<string | undefined>;
  take(size: number): readonly Invoice[];
  /** Leaves these out: they were taken elsewhere. */
  drop(taken: readonly Invoice[]): void;
}

function createReader(
  { invoices, clock }: Pick<DueParts, 'invoices' | 'clock'>,
  { pageSize, cut }: Pick<DuePolicy, 'pageSize' | 'cut'>,
  shard: string,
  except: LeftOut,
): Reader {
  const readAt = clock.monotonic();
  const now = new Date(clock.now()).toISOString();
  const pages = invoices.due({ shard, now, pageSize, except })[Symbol.asyncIterator]();
  let page: readonly Invoice[] = [];
  let ended = false;
  return {
    shard,
    except,
    readAt,
    get head() {
      return page[0];
    },
    async refill() {
      if (page.length > 0 || ended) return undefined;
      try {
        const { done, value } = await pages.next();
        ended = done === true;
        page = ended ? [] : value;
        return undefined;
      } catch (error) {
        ended = true;
        return errorText(error);
      }
    },
    take: (size) => without(cut(page, size)),
    drop: (taken) => void without(taken),
  };

  function without(taken: readonly Invoice[]): readonly Invoice[] {
    const ids = new Set(taken.map(({ id }) => id));
    page = page.filter(({ id }) => !ids.has(id));
    return taken;
  }
}

/** The reader with something to take whose key is the smallest. */
function first<Key extends string | number>(
  readers: readonly Reader[],
  key: (reader: Reader) => Key,
): Reader | undefined {
  let found: Reader | undefined;
  for (const reader of readers) {
    if (reader.head === undefined) continue;
    if (found === undefined || key(reader) < key(found)) found = reader;
  }
  return found;
}
