/** One schedule from its import to its end. */

import type { OutboxEntry } from '../../../packages/jobs/src/outbox/outboxMessage.ts';
import type { InvoiceStatus } from '../../../src/invoice/invoiceStatus.ts';
import type { Summary } from '../../../src/ops/answers/reportAnswers.ts';
import type { StoredDocument } from '../../memory/memoryDocuments.ts';
import { checkAlerts, checkEnd, checkWaysOut, type EndState } from '../invariants/end.ts';
import type { InvoiceDocument } from '../invariants/steps.ts';
import type { OperatorAction } from '../plan/faults.ts';
import { hour, isCalm } from '../plan/plan.ts';
import { applyFaults } from './apply.ts';
import { createFleet, type FleetParts } from './fleet.ts';
import type { Host } from './host.ts';
import { advisedBy, aRequest, press } from './operators.ts';
import { checkAfterLoss } from './restore.ts';
import { timerNames } from './timers.ts';

/**
 * Time that something may be due once everything works again (ms): a stall may last three hours, and a wall
 * clock may be two hours behind.
 */
const stuckMs = 8 * hour;
const lookEveryMs = hour;
/** Numbers of what people do in the end, which no fault of the plan has. */
const bulkRunNumber = 900_001;
const firstDecisionNumber = 1_000_000;
const firstWordNumber = 2_000_000;
/** Milliseconds until people decide whether a refund was made by hand. */
const peopleDecideMs = 6 * hour;
/** Rounds in which people end what is parked or declined. */
const mostDecisions = 6;

export function createStory(parts: FleetParts) {
  const { plan, timeline, startedAt, conditions, report } = parts;
  const fleet = createFleet(parts);
  const { world, newerRelease } = fleet;
  const sentByNewer = plan.faults.filter(({ kind }) => kind === 'newerMessage').length;
  let stage: 'running' | 'gauges' | 'redriving' | 'summary' | 'deciding' = 'running';
  /** Words of people about refunds so far. */
  let words = firstWordNumber;
  /** Times that people have decided about what is left. */
  let decided = 0;
  let summary: Summary | undefined;

  return {
    fleet,
    world,
    receive: fleet.receive,
    loseLeases: () => fleet.loseLeases(),
    hang: fleet.hang,
    begin(): void {
      for (let number = 0; number < plan.instances; number++) fleet.start(number);
      fleet.later(50, importAll);
      applyFaults(fleet, plan, timeline, conditions);
      fleet.later(plan.horizonMs, heal);
    },
    /** Nothing is left to happen. False: the end was checked. */
    wrapUp(): boolean {
      switch (stage) {
        case 'running':
          stage = 'gauges';
          // Clocks were wrong by two hours at most: until then a dead run may look alive.
          for (const { machine } of fleet.alive()) machine.setClock(timeline.now - machine.clock.now());
          fleet.later(3 * hour, () => onHost(({ app }) => app.sweepOutbox()));
          return true;
        case 'gauges': {
          checkAlerts(stateOf(), report);
          stage = 'redriving';
          if (world.lostWork.size > 0) void checkAfterLoss(fleet, startedAt);
          const ids = [
            ...world.queues.commands.deadLetters.map(({ id }) => id),
            ...world.poison.all().flatMap(({ id, status }) => (status === 'poison' ? [id] : [])),
          ];
          const parked = world.parkedMessages();
          // A person does what the alerts ask for.
          onHost(async (host) => {
            const { app } = host;
            const { ops } = app;
            // The next run closes the records of those whose process died.
            await app.processInvoices();
            for (let from = 0; from < ids.length; from += 100)
              await ops.redriveDeadLetters(aRequest({ body: { ids: ids.slice(from, from + 100) } }));
            for (const id of parked) await ops.redriveOutbox(aRequest({ params: { id } }));
            // Groups of bulk runs wait for the next bulk run.
            const isBulk = world.runs.all().some(({ job, status }) => job === 'bulk' && status === 'running');
            const next = { action: 'bulkRedrive', invoiceId: '', number: bulkRunNumber } as const;
            if (isBulk) await press(world, host, fleet.durable, next)?.();
          });
          return true;
        }
        case 'redriving':
          stage = 'summary';
          onHost(async ({ app }) => {
            summary = ((await app.ops.getSummary(aRequest())) as { jsonBody: Summary }).jsonBody;
          });
          return true;
        case 'summary':
          if (summary === undefined) report('makes progress', 'no host gave a summary in the end');
          else checkEnd({ ...stateOf(), summary }, report);
          fleet.checkStarts();
          stage = 'deciding';
          return decide();
        case 'deciding':
          if (decided < mostDecisions && decide()) return true;
          checkWaysOut(stateOf(), report);
          return false;
      }
    },
  };

  /** People end what is parked or declined: they do what its reason says, and in the end they void it. False: none is left. */
  function decide(): boolean {
    const left = [...world.invoices.values()].filter(
      (invoice) => invoice.status === 'parked' || invoice.status === 'declined' || waitsForWord(invoice),
    );
    const followsAdvice = plan.outside === true && decided % 2 === 0;
    decided++;
    if (left.length === 0) return false;
    // By then no call can be in flight.
    fleet.later(hour, () =>
      onHost(async (host) => {
        for (const { id: invoiceId, reason, status: before } of left) {
          for (const action of actionsFor(before, reason, followsAdvice)) {
            const number = firstDecisionNumber + decided;
            const answer = await press(world, host, fleet.durable, { action, invoiceId, number })?.();
            const { status = 200 } = (answer ?? {}) as { status?: number };
            fleet.note('a person', `${action}s ${invoiceId}: ${status}`);
            if (status < 300) break;
          }
        }
      }),
    );
    return true;
  }

  function actionsFor(
    status: InvoiceStatus,
    reason: string | undefined,
    followsAdvice: boolean,
  ): readonly OperatorAction[] {
    if (status === 'paid') return ['settleRefund'];
    return followsAdvice ? advisedBy(reason) : ['void'];
  }

  function stateOf(): Omit<EndState, 'summary'> {
    const messages = [...world.stored.values()].filter(({ type }) => type === 'outboxMessage');
    return {
      world,
      invoices: [...world.invoices.values()],
      messages: messages as (StoredDocument & OutboxEntry)[],
      newer: {
        sent: sentByNewer,
        taken: newerRelease.taken,
      },
      notifies: plan.notifies,
      told: plan.listsEvents,
      calm: isCalm(plan),
      now: timeline.now,
    };
  }

  function importAll(): void {
    if (timeline.now - startedAt > plan.horizonMs + stuckMs) {
      report('makes progress', 'the invoices could not be imported');
      return;
    }
    const host = fleet.pick();
    if (host === undefined) {
      fleet.later(5_000, importAll);
      return;
    }
    const rows = plan.invoices.map(({ fates, dueAt, ...content }) => ({
      ...content,
      description: `what awaits it: ${fates.map(({ kind }) => kind).join(', ') || 'nothing'}`,
      dueAt: new Date(startedAt + dueAt).toISOString(),
    }));
    world.imported = rows;
    host.machine.later(0, () =>
      host.run(
        'import',
        () => host.app.ops.importInvoices(aRequest({ body: rows })),
        (_, failed) => {
          if (failed || world.invoices.size < rows.length) fleet.later(5_000, importAll);
        },
      ),
    );
    // The importer asks again if it hears nothing.
    fleet.later(10 * 60_000, () => {
      if (world.invoices.size < rows.length) importAll();
    });
  }

  /** Everything works from now on. */
  function heal(): void {
    fleet.note('fault', 'none any more');
    conditions.heal();
    fleet.offer();
    newerRelease.start();
    look();
  }

  function look(): void {
    // People may act long after the faults are over.
    const since = startedAt + Math.max(plan.horizonMs, ...plan.faults.map(({ at }) => at));
    if (timeline.now - since > peopleDecideMs) settleRefunds();
    // By its own clock, a host that is hours behind is in time.
    const behindMs = Math.max(0, ...fleet.alive().map(({ machine }) => timeline.now - machine.clock.now()));
    let busy = false;
    for (const name of timerNames) {
      for (const [id, due] of fleet.timers.due(name)) {
        busy = true;
        if (timeline.now - Math.max(due, since) > stuckMs + behindMs)
          report('makes progress', `${id} has been due for ${name} since ${new Date(due).toISOString()}`, id);
      }
    }
    // Looks again as long as a timer has something to find, now or later, or a person is still to act.
    if (busy || timeline.now <= since) fleet.later(lookEveryMs, look);
  }

  /** A refund that may have been made by hand is asked about every day until a person decides. */
  function settleRefunds(): void {
    const asked = [...world.invoices.values()].filter(waitsForWord);
    if (asked.length === 0) return;
    onHost(async (host) => {
      for (const { id: invoiceId } of asked) {
        const number = words++;
        await press(world, host, fleet.durable, { action: 'settleRefund', invoiceId, number })?.();
      }
    });
  }

  /** As soon as there is a host. */
  function onHost(run: (host: Host) => Promise<unknown>): void {
    const host = fleet.pick();
    if (host === undefined) fleet.later(60_000, () => onHost(run));
    else
      host.machine.later(0, () =>
        host.run(
          'closing',
          () => run(host),
          () => {},
        ),
      );
  }
}

function waitsForWord({ reversals }: InvoiceDocument): boolean {
  return (
    reversals?.refunds.some(({ mayBe, status }) => status === 'requested' && mayBe !== undefined) === true
  );
}
