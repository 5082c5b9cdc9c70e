import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { NoClearAnswer } from '../../packages/jobs/src/documents/documentStore.ts';
import type { OutboxMessage } from '../../packages/jobs/src/outbox/outboxMessage.ts';
import { RetryLater } from '../../packages/jobs/src/workItems/nextTry.ts';
import { workItemSchema } from '../../packages/jobs/src/workItems/workItem.ts';
import { refundInvoice } from '../../src/after/refundInvoice.ts';
import { refundStage } from '../../src/after/refundStage.ts';
import { trackPayment } from '../../src/after/trackPayment.ts';
import { webhookFollowUp } from '../../src/after/webhook.ts';
import { followUpsOf } from '../../src/invoice/followUps.ts';
import { shardOf } from '../../src/invoice/shard.ts';
import { defaultSettlementPolicy } from '../../src/paying/payingPolicy.ts';
import { memoryDocuments } from '../memory/memoryDocuments.ts';
import { memoryInvoiceStore } from '../memory/memoryInvoiceStore.ts';
import { anInstance } from '../support/anInstance.ts';
import { anInvoice } from '../support/anInvoice.ts';
import { isFull } from '../support/onlyInFull.ts';
import { unpaced } from '../support/unpaced.ts';
import { type CallFault, providerWithRefunds } from './providerWithRefunds.ts';

const paidMinor = 1_000;
const hour = 3_600_000;
const id = 'inv-1';
const shard = shardOf(id, 4);

/** The process died. */
class Crash extends Error {}

const callFaults: readonly CallFault[] = [
  'none',
  'none',
  'lostBefore',
  'lostAfter',
  'rememberedFailure',
  'transient',
  'crashBefore',
  'crashAfter',
];

const troubles = fc.record({
  calls: fc.array(fc.constantFrom(...callFaults), { maxLength: 12 }),
  writes: fc.array(fc.constantFrom('none', 'none', 'before', 'after', 'echo', 'crash'), { maxLength: 12 }),
  /** Hours between two rounds. */
  pauses: fc.array(fc.constantFrom(0, 0, 0.2, 5, 23.2, 30), { maxLength: 12 }),
  /** Two processes try the same item at the same time. */
  twice: fc.array(fc.boolean(), { maxLength: 12 }),
  /** An event makes somebody look at the payment in between. */
  looks: fc.array(fc.boolean(), { maxLength: 12 }),
  asked: fc.array(
    fc.record({
      key: fc.constantFrom('a', 'b', 'c'),
      amountMinor: fc.constantFrom(undefined, 300, 300, 700),
    }),
    { minLength: 1, maxLength: 5 },
  ),
  /** Outcomes of the provider's refunds, in turns. */
  outcomes: fc.array(fc.constantFrom('succeeded', 'pending', 'pendingFails'), { minLength: 1, maxLength: 4 }),
});

test('each refund reaches the provider once, whatever crashes, answers are lost, and however late it is tried again', async () => {
  await fc.assert(
    fc.asyncProperty(troubles, async (trouble) => {
      const inTurn = <T>(list: readonly T[], otherwise: T) => {
        let n = 0;
        return () => list[n++] ?? otherwise;
      };
      const writeFault = inTurn(trouble.writes, 'none');
      let calm = false;
      const pause = inTurn(trouble.pauses, 0.5);
      let now = Date.parse('2026-01-01T00:00:00.000Z');
      const clock = {
        now: () => now,
        monotonic: () => now,
        sleep: async () => {},
      };
      const documents = memoryDocuments({
        now: () => now,
        fault() {
          const fault = calm ? 'none' : writeFault();
          if (fault === 'crash') throw new Crash();
          return fault === 'none' ? undefined : fault;
        },
      });
      const invoices = memoryInvoiceStore(documents, { clock, shards: 4 });
      const payment = {
        keyNumber: 1,
        declines: 0,
        deferrals: 0,
        id: 'pi_1',
        paidAt: '2025-12-31T00:00:00.000Z',
      };
      const {
        _etag,
        actionableAt: _,
        ...invoice
      } = anInvoice({ id, shard, status: 'paid', amountMinor: paidMinor, payment });
      while ((await documents.read(shard, [id])).length === 0) {
        await documents.transact(shard, [{ kind: 'create', document: invoice }]).catch(() => {});
      }
      const stripe = providerWithRefunds({
        invoiceId: id,
        paidMinor,
        now: () => now,
        fault: inTurn(trouble.calls, 'none'),
        outcomes: trouble.outcomes,
        crash: () => new Crash(),
      });
      const instance = anInstance({ clock });
      const followUps = followUpsOf([webhookFollowUp]);
      const provider = unpaced(stripe.provider, { clock });
      const parts = { invoices, provider, followUps, settlement: defaultSettlementPolicy, instance };
      const stage = refundStage(parts);

      for (const { key, amountMinor } of trouble.asked) {
        const amount = amountMinor === undefined ? {} : { amountMinor };
        await refundInvoice(parts, id, { idempotencyKey: key, reason: 'r', by: 'ada', ...amount }).catch(
          unlessTrouble,
        );
      }

      for (let round = 0; round < 60; round++) {
        const items = (await itemsIn()).filter(({ stage: name }) => name === 'refund');
        for (const [n, item] of items.entries()) {
          const run = () =>
            stage
              .run(item.input, { resourceId: id, signal: new AbortController().signal, assertHeld() {} })
              .catch(unlessTrouble);
          await Promise.all(trouble.twice[round + n] === true ? [run(), run()] : [run()]);
        }
        if (trouble.looks[round] === true) await trackPayment(parts, 'pi_1').catch(unlessTrouble);
        now += pause() * hour;
      }
      stripe.endAll();
      calm = true;
      await trackPayment(parts, 'pi_1');

      const stored = await invoices.find(id);
      const recorded = stored?.reversals?.refunds ?? [];
      const made = stripe.refunds();
      // Nothing twice, nothing lost.
      const ids = made.map(({ refundId }) => refundId);
      expect(new Set(ids).size).toBe(ids.length);
      expect(recorded.filter(({ status }) => status === 'requested')).toEqual([]);
      expect(recorded.flatMap(({ providerId }) => providerId ?? []).toSorted()).toEqual(
        made.map(({ providerId }) => providerId).toSorted(),
      );
      for (const { providerId, amountMinor, status } of made) {
        expect(recorded.find((one) => one.providerId === providerId)).toMatchObject({ amountMinor, status });
      }
      expect(stored?.reversals?.refundedMinor ?? 0).toBeLessThanOrEqual(paidMinor);
      // Each end is announced once.
      const announced = (await itemsIn())
        .filter(({ stage: name }) => name === 'notify')
        .map(({ occasion, input }) => ({
          occasion,
          type: input.type,
          reversalId: z.string().parse(input.reversalId),
        }));
      expect(new Set(announced.map(({ occasion }) => occasion)).size).toBe(announced.length);
      const told = (type: string) =>
        announced
          .filter((one) => one.type === type)
          .map(({ reversalId }) => reversalId)
          .toSorted();
      const withStatus = (status: string) =>
        recorded
          .filter((one) => one.status === status)
          .map((one) => one.id)
          .toSorted();
      expect(told('invoice.refunded')).toEqual(withStatus('succeeded'));
      expect(told('invoice.refund_failed')).toEqual(withStatus('failed'));

      async function itemsIn() {
        const messages = await documents.query((document) => document.type === 'outboxMessage');
        return messages.flatMap(({ body }) =>
          workItemSchema.array().parse((body as OutboxMessage['body']) ?? []),
        );
      }
    }),
    { numRuns: isFull ? 300 : 100 },
  );
}, 120_000);

function unlessTrouble(error: unknown): void {
  if (error instanceof Crash || error instanceof RetryLater || error instanceof NoClearAnswer) return;
  throw error;
}
