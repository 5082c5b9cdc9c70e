import { randomUUID } from 'node:crypto';
import type { DeadLetter, DeadLetterSource } from '../../../packages/jobs/src/deadLetters/deadLetters.ts';
import { cosmosDocuments } from '../../../packages/jobs/src/documents/cosmosDocuments.ts';
import { cosmosOutboxStore } from '../../../packages/jobs/src/outbox/cosmosOutboxStore.ts';
import { newOutboxMessage } from '../../../packages/jobs/src/outbox/messageMoves.ts';
import { cosmosRunStore } from '../../../packages/jobs/src/runs/cosmosRunStore.ts';
import { newManualRun, runManualGroup } from '../../../packages/jobs/src/runs/manualRun.ts';
import type { GroupRecord } from '../../../packages/jobs/src/runs/runRecord.ts';
import type { Invoice } from '../../../src/invoice/invoice.ts';
import { shardOf } from '../../../src/invoice/shard.ts';
import { cosmosInvoiceStore } from '../../../src/invoice/store/cosmosInvoiceStore.ts';
import { bulkGroups, bulkJob } from '../../../src/ops/bulk/bulkJob.ts';
import type { BulkRequest } from '../../../src/ops/bulk/bulkRequest.ts';
import { cosmosAudit } from '../../../src/ops/cosmosAudit.ts';
import { memoryJournal } from '../../memory/memoryJournal.ts';
import { anInstance } from '../../support/anInstance.ts';
import { anInvoice } from '../../support/anInvoice.ts';
import { correctionParts } from '../../support/correctionParts.ts';
import { type PayonceCosmos, payonceCosmos } from '../../support/payonceCosmos.ts';
import { storeInBatches } from '../../support/storeInBatches.ts';
import { virtualLocks } from '../../support/virtualLocks.ts';

const shards = 4;
const outOfReach = 'OutOfReach';
const comesBack = 'ComesBack';

export const at = '2026-01-02T00:00:00.000Z';

/** The process ended: nothing that it does from here on has an effect. */
class Killed extends Error {}

/** Bulk runs on a Cosmos of their own, in a process that can be killed at any of its writes. */
export async function bulkWorld() {
  const cosmos = await payonceCosmos();
  const { containers } = cosmos;
  const world = virtualLocks();
  const { clock } = world;
  clock.stall(Date.parse(at) - clock.now());
  const instance = anInstance({ clock });
  const letters = new Map<string, DeadLetter>();
  const sent: string[] = [];
  const journal = memoryJournal();
  let life = { writesLeft: Number.POSITIVE_INFINITY, dead: false };

  /** Each write may be the last one: the process dies before it, or once it is done. */
  function mortal<Parts extends object>(parts: Parts, writes: readonly (keyof Parts)[]): Parts {
    const own = life;
    const wrapped = { ...parts };
    for (const name of Object.keys(parts) as (keyof Parts)[]) {
      const call = parts[name];
      // Bulk operations read no streams.
      if (typeof call !== 'function' || name === 'due') continue;
      wrapped[name] = (async (...args: unknown[]) => {
        if (own.dead) throw new Killed();
        const counts = writes.includes(name);
        if (counts && own.writesLeft-- <= 0) {
          own.dead = true;
          throw new Killed();
        }
        const result: unknown = await (call as (...given: unknown[]) => unknown).apply(parts, args);
        if (own.dead) throw new Killed();
        return result;
      }) as Parts[keyof Parts];
    }
    return wrapped;
  }

  const source: DeadLetterSource = {
    name: 'payment-commands',
    owns: () => true,
    list: async (limit, behind = '') =>
      [...letters.values()].filter(({ place }) => place > behind).slice(0, limit),
    async *redrive(ids) {
      const own = life;
      for (const id of [...letters.keys()].filter((one) => ids.has(one))) {
        if (own.dead || own.writesLeft-- <= 0) {
          own.dead = true;
          throw new Killed();
        }
        if (letters.get(id)?.reason === outOfReach) {
          yield { kind: 'left', id, why: 'another receiver has it locked' };
          continue;
        }
        sent.push(id);
        const letter = letters.get(id);
        letters.delete(id);
        if (letter?.reason === comesBack) {
          const place = `~${`${sent.length}`.padStart(6, '0')}`;
          letters.set(place, { ...letter, id: place, place });
        }
        yield { kind: 'moved', id };
      }
    },
    async *discard(ids) {
      for (const id of [...letters.keys()].filter((one) => ids.has(one))) {
        letters.delete(id);
        yield { kind: 'moved', id };
      }
    },
  };

  function aProcess() {
    const invoices = cosmosInvoiceStore(containers.invoices, { clock, shards });
    const store = mortal(invoices, ['change', 'update']);
    const outbox = mortal(cosmosOutboxStore(containers.invoices), ['redrive', 'discard']);
    const job = bulkJob({
      invoices: store,
      outbox,
      deadLetters: [source],
      corrections: correctionParts({ invoices: store, clock }),
      audit: mortal(cosmosAudit(containers.audit, clock), ['append']),
      journal: mortal(journal, ['append']),
      instance,
    });
    const runs = mortal(cosmosRunStore(containers.runs), ['updateGroup']);
    return { jobs: [job], locks: world.locks, runs, instance };
  }

  return {
    cosmos,
    letters,
    sent,
    journal,
    /** Starts a run and does its group; a process that is killed is followed by another one. */
    async run(request: BulkRequest, { dryRun = false, killedAfter = [] as number[] } = {}) {
      const runId = randomUUID();
      const group = bulkGroups[request.action];
      const run = { job: 'bulk', runId, groups: [group], dryRun };
      const runs = cosmosRunStore(containers.runs);
      await runs.create(newManualRun(run, at, request));
      let record: GroupRecord | undefined;
      for (const writesLeft of [...killedAfter, Number.POSITIVE_INFINITY]) {
        life = { writesLeft, dead: false };
        const done = runManualGroup(aProcess(), { ...run, group });
        let over = false;
        void done.then(
          () => (over = true),
          () => (over = true),
        );
        // Pauses of a plan, and leases of the dead.
        for (let n = 0; n < 1_000 && !over; n++) await clock.advance(1_000);
        record = await done.catch(() => undefined);
        if (record?.status === 'completed' && !life.dead) break;
        life.dead = true;
      }
      return { runId, record, stored: await runs.read('bulk', runId) };
    },
    async invoices(...changes: (Partial<Invoice> & { id: string })[]) {
      const documents = changes.map((one) => {
        const { _etag, ...content } = anInvoice({ shard: shardOf(one.id, shards), ...one });
        return content;
      });
      await storeInBatches(containers.invoices, documents);
    },
    async invoice(id: string): Promise<Invoice> {
      const { resource } = await containers.invoices.item(id, shardOf(id, shards)).read<Invoice>();
      if (resource === undefined) throw new Error(`there is no ${id}`);
      return resource;
    },
    /** The invoices in the order of `ids`. */
    async invoicesOf(ids: readonly string[]): Promise<Invoice[]> {
      const found = new Map<string, Invoice>();
      for (const [shard, some] of Map.groupBy(ids, (id) => shardOf(id, shards))) {
        for (const document of await cosmosDocuments(containers.invoices).read(shard, some)) {
          const invoice = document as Invoice;
          found.set(invoice.id, invoice);
        }
      }
      return ids.map((id) => {
        const invoice = found.get(id);
        if (invoice === undefined) throw new Error(`there is no ${id}`);
        return invoice;
      });
    },
    async parkedMessages(...ids: string[]) {
      const documents = ids.map((id) => {
        const content = { id, shard: '01', destination: 'work-items', body: [{ id }] };
        const { nextAttemptAt: _, ...message } = newOutboxMessage(
          content,
          Date.parse('2026-01-01T00:00:00Z'),
        );
        return { ...message, status: 'parked', attempts: 10, lastError: 'away' };
      });
      await storeInBatches(containers.invoices, documents);
    },
    async message(id: string) {
      return (await containers.invoices.item(id, '01').read<Record<string, unknown>>()).resource;
    },
    deadLetters(...ids: string[]) {
      for (const id of ids) {
        letters.set(id, { id, source: source.name, reason: 'NotABatch', at, body: {}, place: id });
      }
    },
    /** Dead letters that are listed and never received. */
    deadLettersOutOfReach(...ids: string[]) {
      for (const id of ids) {
        letters.set(id, { id, source: source.name, reason: outOfReach, at, body: {}, place: id });
      }
    },
    /** Dead letters that fail again as soon as they are sent. */
    deadLettersThatComeBack(...ids: string[]) {
      for (const id of ids) {
        letters.set(id, { id, source: source.name, reason: comesBack, at, body: {}, place: id });
      }
    },
    async audited(
      runId: string,
    ): Promise<{ actor: string; action: string; detail: Record<string, unknown> }[]> {
      const { resources } = await containers.audit.items
        .query<{ actor: string; action: string; detail: Record<string, unknown> }>({
          query: 'SELECT * FROM c WHERE c.target = @target',
          parameters: [{ name: '@target', value: `bulk/${runId}` }],
        })
        .fetchAll();
      return resources;
    },
    [Symbol.asyncDispose]: () => cosmos[Symbol.asyncDispose](),
  };
}

export type BulkWorld = Awaited<ReturnType<typeof bulkWorld>>;
export type { PayonceCosmos };
