/** People who put the database back to an earlier time, and then do what docs/deploy.md says. */
import { changesLost } from '../../../scripts/changesLost.ts';
import { settleRestored } from '../../../scripts/settleRestored.ts';
import { systemClock } from '../../../src/platform/clock.ts';
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
    const invoices = memoryInvoiceStore(world.documents, { clock, shards: fleet.shards });
    const since = time - beforeMs;
    let invoicesLeft = 0;
    const settling = settleRestored({
      stripe: stripeView(world.provider),
      invoices,
      since,
      now: timeline.now,
      apply: true,
      deployment: 'simulated',
    });
    for await (const { finding } of settling)
      if (finding === 'again' || finding === 'missing') invoicesLeft++;
    return {
      invoicesLeft,
      lost: await changesLost(world.journal.lines, invoices, new Date(since).toISOString()),
    };
  }

  function doAgain({ invoiceId, change }: Lost): void {
    const params = { id: invoiceId };
    const reason = 'done again after the restore';
    ask(({ ops }) => {
      switch (change.kind) {
        case 'voided':
          return ops.voidInvoice(aRequest({ params, body: { reason } }));
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

/** The check runs on a person's machine, whose clock is right. Nothing in it waits. */
const clock = systemClock;
