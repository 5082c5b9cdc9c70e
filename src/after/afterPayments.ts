import type { Instance } from '@payonce/jobs/instance';
import type { Effects, Stage } from '@payonce/jobs/work-items';
import type { Lease } from '@payonce/leases';
import { type FollowUps, followUpsOf } from '../invoice/followUps.ts';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import { defaultSettlementPolicy } from '../paying/payingPolicy.ts';
import type { ProviderEvents } from '../paying/paymentProvider.ts';
import { checkPayments } from './checkPayments.ts';
import { paymentEventStage } from './eventStage.ts';
import type { EventListParts } from './readEventList.ts';
import { type ReceiptStore, receiptFollowUp, receiptStage } from './receipts.ts';
import { eventIntake } from './receiveEvent.ts';
import { reconciliationFollowUp, reconciliationStage } from './reconciliation.ts';
import type { AfterParts } from './record.ts';
import { refundStage } from './refundStage.ts';
import { type WebhookSettings, webhookFollowUp, webhookStage } from './webhook.ts';

/** The follow-ups of the app. `notify`: the webhook that is told of every end. */
export function appFollowUps({ notify }: { notify: WebhookSettings | undefined }): FollowUps {
  const webhook = notify === undefined ? [] : [webhookFollowUp];
  return followUpsOf([receiptFollowUp, reconciliationFollowUp, ...webhook]);
}

/** Everything that happens to an invoice after, or besides, its charge: the stages of work items, events and checks. */
export function afterPayments(
  {
    stored,
    events,
    receipts,
    provider,
    followUps,
    instance,
    ...list
  }: Pick<AfterParts, 'provider' | 'followUps'> &
    Omit<EventListParts, 'isDone' | 'instance'> & {
      /** Invoices of the database, and those wherever they are. */
      stored: InvoiceStore;
      invoices: InvoiceStore;
      events: ProviderEvents;
      receipts: ReceiptStore;
      effects: Pick<Effects, 'has'>;
      instance: Instance;
    },
  { notify, webhookSecrets }: { notify: WebhookSettings | undefined; webhookSecrets: readonly string[] },
) {
  const { invoices } = list;
  const corrections = { invoices, provider, followUps, settlement: defaultSettlementPolicy, instance };
  const stages: Stage[] = [
    receiptStage(receipts),
    reconciliationStage({ invoices: stored, provider, followUps, instance }),
    refundStage(corrections),
    paymentEventStage(corrections),
    ...(notify === undefined ? [] : [webhookStage(notify, instance)]),
  ];
  const intake = eventIntake({ ...list, events, webhookSecrets, instance });
  return {
    corrections,
    stages,
    receive: intake.receive,
    /** Reads the list of events, then asks about payments in progress, refunds and disputes. */
    async track(lease: Pick<Lease, 'assertHeld'>, signal: AbortSignal) {
      const listed = await intake.readList(lease, signal);
      return { ...listed, ...(await checkPayments(corrections, lease, signal)) };
    },
  };
}
