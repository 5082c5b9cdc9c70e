/** People who put the database back to an earlier time, and then do what docs/deploy.md says. */

import { systemClock } from '../../../packages/leases/src/clock.ts';
import { changesLost } from '../../../scripts/changesLost.ts';
import { settleRestored } from '../../../scripts/settleRestored.ts';
import { memoryInvoiceStore } from '../../memory/memoryInvoiceStore.ts';
import { withoutTimers } from '../engine/globals.ts';
import { stripeView } from '../world/stripeView.ts';
import type { Fleet } from './fleet.ts';
import { aRequest } from './operators.ts';

/** Milliseconds. */
const stoppedMs = 600_000;
const nextStepMs = 300_000;
/** The check begins a day before the time of the copy. */
const beforeMs = 24 * 3_600_000;
/** Attempts in vain after which people leave an invoice as it is. */
const mostRounds = 12;

type Lost = Awaited<ReturnType<typeof changesLost>>[number];

export function restoreDatabase(fleet: Fleet, backMs: number): void {
  const { world } = fleet;
  const { timeline } = world;
  const time = timeline.now - backMs;
  void fleet.restore(time, stoppedMs).then(() => fleet.later(stoppedMs + 1_000, importAgain));

  function importAgain(): void {
    ask(
      ({ ops }) => ops.importInvoices(aRequest({ body: world.imported })),
      () => fleet.later(nextStepMs, () => void check(1)),
    );
  }

  async function check(round: number): Promise<void> {
    const { invoicesLeft, lost } = await withoutTimers(afterRestore);
    fleet.note('a person', `checks the copy: ${invoicesLeft} to run again, ${lost.length} lost`);
    if ((invoicesLeft === 0 && lost.length === 0) || round === mostRounds) {
      for (const { invoiceId } of lost) world.voided.delete(invoiceId);
      fleet.pay();
      return;
    }
    for (const one of lost) doAgain(one);
    fleet.later(nextStepMs, () => void check(round + 1));
  }

  /** As scripts/afterRestore.ts does, with `--apply`. */
  async function afterRestore() {
    const since = time - beforeMs;
    const from = new Date(since).toISOString();
    return {
      invoicesLeft: await settlePayments(fleet, since),
      lost: await changesLost(world.journal.lines, invoicesOf(fleet), from),
    };
  }

  function doAgain({ invoiceId, change }: Lost): void {
    const params = { id: invoiceId };
    const reason = 'done again after the restore';
    ask(({ ops }) => {
      switch (change.kind) {
        case 'voided':
          return ops.voidInvoice(aRequest({ params, body: { reason } }));
        case 'void undone':
          return ops.undoVoid(aRequest({ params, body: { reason } }));
        case 'dueDate':
          return ops.moveDueDate(aRequest({ params, body: { dueAt: change.dueAt } }));
        case 'paymentMethod': {
          const { paymentMethod } = change;
          return ops.retryInvoice(aRequest({ params, body: { reason, paymentMethod } }));
        }
      }
    });
  }

  function ask(
    run: (app: NonNullable<ReturnType<Fleet['pick']>>['app']) => Promise<unknown>,
    then = () => {},
  ): void {
    const host = fleet.pick();
    let isOver = false;
    // The host may die: then there is no answer.
    fleet.later(nextStepMs, () => {
      if (!isOver) ask(run, then);
      isOver = true;
    });
    host?.machine.later(0, () =>
      host.run(
        'operator',
        () => run(host.app),
        () => {
          if (!isOver) then();
          isOver = true;
        },
      ),
    );
  }
}

/**
 * A queue has lost what it had acknowledged, the events of the provider among it: people run the same check on the database that
 * they have, once nothing is paid (docs/second-region.md).
 */
export async function checkAfterLoss(fleet: Fleet, startedAt: number): Promise<void> {
  const invoicesLeft = await withoutTimers(() => settlePayments(fleet, startedAt - beforeMs));
  fleet.note('a person', `checks what a queue has lost: ${invoicesLeft} to run again`);
}

/** Records what the provider has, with `--apply`. Resolves with the number of invoices that are to be run again. */
async function settlePayments(fleet: Fleet, since: number): Promise<number> {
  const { provider, timeline, printed } = fleet.world;
  let left = 0;
  const settling = settleRestored({
    stripe: stripeView(provider),
    invoices: invoicesOf(fleet),
    since,
    now: timeline.now,
    apply: true,
    deployment: 'simulated',
  });
  for await (const { finding, paymentId } of settling) {
    if (finding === 'foreign') printed.add(paymentId);
    if (finding === 'again' || finding === 'missing') left++;
  }
  return left;
}

/** They run on a person's machine, whose clock is right. Nothing in it waits. */
const clock = systemClock;

function invoicesOf({ world, shards }: Fleet) {
  return memoryInvoiceStore(world.documents, { clock, shards });
}
