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
      /** The shard takes no claims: it is left out from here on. */
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
  /** The first part of a page that fits one batch of at most `size`. */
  cut: (page: readonly Invoice[], size: number) => readonly Invoice[];
}

/** How long to wait for room, or for other groups, in milliseconds. */
const pauseMs = 1_000;

/** A page that was read longer ago than this, in milliseconds, is read again: others may be due, or longer, by now. */
const freshMs = 15_000;

/**
 * Plans until nothing is due. What is read is claimed conditionally, so an old page does no harm. A shard that cannot be
 * read is left out, and the others go on.
 */
export async function* planDue(parts: DueParts, policy: DuePolicy): AsyncGenerator<ClaimWork | Pause> {
  const { clock, room, heads } = parts;
  const share = createFairShare();
  const failed = new Set<string>();
  let batches = 0;
  let waited: boolean;
  do {
    waited = false;
    let readers = readersOf(nobody);
    let fair: Reader[][] = [];
    for (;;) {
      for (const reader of [readers, ...fair].flat()) {
        const error = await reader.refill();
        if (error === undefined || failed.has(reader.shard)) continue;
        failed.add(reader.shard);
        yield { kind: 'unreadable', error: `shard ${reader.shard}: ${error}` };
      }
      const oldest = first(readers, ({ head }) => head?.actionableAt ?? '');
      if (oldest?.head?.actionableAt === undefined) break;
      const size = await room.batch();
      if (size === 0 || (room.crowded() && (await othersAreFirst(oldest.head.actionableAt)))) {
        waited = true;
        yield new Pause(pauseMs);
        readers = fresh(readers);
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
      yield { kind: 'claim', shard, invoices: taken, leaveOut: () => void failed.add(shard) };
    }
  } while (waited);

  function readersOf(except: LeftOut): Reader[] {
    return policy.shards
      .filter((shard) => !failed.has(shard))
      .map((shard) => createReader(parts, policy, shard, except));
  }

  function fresh(readers: readonly Reader[]): Reader[] {
    return readers
      .filter(({ shard }) => !failed.has(shard))
      .map((reader) => {
        const isFresh = clock.monotonic() - reader.readAt < freshMs;
        return isFresh ? reader : createReader(parts, policy, reader.shard, reader.except);
      });
  }

  /** The readers that take turns with the oldest while there is a flood. */
  function fairReaders(all: Reader[], before: readonly Reader[][]): Reader[][] {
    const without = share.leaveOut().map((except) => {
      const same = before.find(([one]) => JSON.stringify(one?.except) === JSON.stringify(except));
      return same === undefined ? readersOf(except) : fresh(same);
    });
    return [...without, ...(share.oneShard() ? [all] : [])];
  }

  function leastClaimed(readers: readonly Reader[]): Reader | undefined {
    return first(readers, ({ shard }) => share.ofShard(shard));
  }

  async function othersAreFirst(since: string): Promise<boolean> {
    const own = { since, at: clock.now() };
    // Whoever cannot be asked is not waited for.
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
    take(size) {
      const taken = cut(page, size);
      page = page.slice(taken.length);
      return taken;
    },
    drop(taken) {
      if (page.length === 0) return;
      const ids = new Set(taken.map(({ id }) => id));
      page = page.filter(({ id }) => !ids.has(id));
    },
  };
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
