/** Origin of a figure: it was measured, follows from the code, or is a guess. */
export type Basis = 'measured' | 'counted' | 'estimated';

export interface Figure {
  value: number;
  basis: Basis;
  /** Its measurement, or where it comes from. */
  how: string;
}

const hoursAMonth = 730;
const fiveMinutes = (hoursAMonth * 3600) / 300;
/** Idle use was measured for ten minutes. */
const tenMinutes = (hoursAMonth * 3600) / 600;
const halfMinutes = (hoursAMonth * 3600) / 30;

/** Usage of one paid invoice. */
export const perInvoice = {
  cosmosRequests: {
    value: 0.107,
    basis: 'measured',
    how: '`npm run bench`, from claim to paid, in batches of 50',
  },
  receiptCosmosRequests: {
    value: 0.04,
    basis: 'measured',
    how: '`npm run bench -- receipts`: two for 50 receipts',
  },
  requestUnits: {
    value: 50,
    basis: 'estimated',
    how: 'create 10; 50 patches of about 11 in each of three transactions; outbox 6 and effects 11 a batch. The charges of the local Cosmos are not those of Azure',
  },
  gigabytes: {
    value: 0.000003,
    basis: 'estimated',
    how: '3 kB: the invoice, its effects and its share of an outbox message',
  },
  blobWrites: { value: 1, basis: 'counted', how: 'the receipt' },
  queueOperations: {
    value: 0.05,
    basis: 'measured',
    how: '`npm run bench -- receipts`: a send, a receive and a delete for 50',
  },
  gbSeconds: {
    value: 0.2,
    basis: 'estimated',
    how: '0.1 s of an instance with 2 GB; calls of the provider run side by side',
  },
  executions: { value: 0.04, basis: 'counted', how: 'one for a batch of 50 payments, one for its receipts' },
  logGigabytes: { value: 0.0000005, basis: 'estimated', how: '0.5 kB' },
} as const satisfies Record<string, Figure>;

/** Usage of the app in a month, whether or not there is anything to pay. */
export const perMonth = {
  cosmosRequests: {
    value: 362 * tenMinutes,
    basis: 'measured',
    how: '362 in ten minutes of one idle instance, default schedules, local host and cloud, one partition key range',
  },
  ruPerRequest: {
    value: 3,
    basis: 'estimated',
    how: 'a query that finds nothing costs 2.3 RU or a little more',
  },
  storageOperations: {
    value: (3_510 + 841) * tenMinutes,
    basis: 'measured',
    how: '3,510 on blobs and 841 on queues in the same ten minutes: leases, timers, polling, Durable Functions. The host of Azure polls at paces of its own',
  },
  executions: {
    value: fiveMinutes + 2 * halfMinutes + hoursAMonth,
    basis: 'counted',
    how: 'processInvoices every 5 minutes, sweepOutbox and trackPayments every 30 s, archiveInvoices every hour',
  },
  gbSecondsPerExecution: {
    value: 2,
    basis: 'counted',
    how: 'an execution is billed for at least a second (https://learn.microsoft.com/azure/azure-functions/flex-consumption-plan#billing), of 2 GB',
  },
  logGigabytes: { value: 1, basis: 'estimated', how: 'metrics and ticks' },
} as const satisfies Record<string, Figure>;

/** Of one month. */
export const hours = hoursAMonth;
