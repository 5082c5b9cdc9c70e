/** A list price in US dollars. */
export interface Price {
  usd: number;
  /** The unit that it is the price of. */
  per: string;
  /** The page that has it. Most show the figure only after a region was chosen. */
  source: string;
  /** When this project noted it. */
  noted: string;
}

const noted = '2026-11-22';
const page = (name: string) => `https://azure.microsoft.com/pricing/details/${name}/`;

/**
 * List prices of West Europe, rounded, without discounts. Compare them with their pages before you rely on them: they
 * change, and differ by region and agreement.
 */
export const prices = {
  cosmosMillionRu: { usd: 0.28, per: 'million RU, serverless', source: page('cosmos-db/serverless'), noted },
  cosmosAutoscale: {
    usd: 0.012,
    per: 'hour and 100 RU/s, autoscale',
    source: page('cosmos-db/autoscale-provisioned'),
    noted,
  },
  cosmosGb: { usd: 0.25, per: 'GB and month', source: page('cosmos-db/serverless'), noted },
  blobWrites: { usd: 0.065, per: '10,000 writes, zone-redundant', source: page('storage/blobs'), noted },
  blobOther: {
    usd: 0.005,
    per: '10,000 other operations, lease calls among them',
    source: page('storage/blobs'),
    noted,
  },
  queueOperations: { usd: 0.004, per: '10,000 operations', source: page('storage/queues'), noted },
  serviceBusStandard: {
    usd: 10,
    per: 'month, 13 million operations included',
    source: page('service-bus'),
    noted,
  },
  serviceBusPremium: { usd: 670, per: 'month and messaging unit', source: page('service-bus'), noted },
  privateEndpoint: { usd: 7.3, per: 'month', source: page('private-link'), noted },
  gbSecond: { usd: 0.000026, per: 'GB-second, on demand', source: page('functions'), noted },
  millionExecutions: { usd: 0.4, per: 'million executions, on demand', source: page('functions'), noted },
  logsGb: { usd: 2.8, per: 'GB ingested', source: page('monitor'), noted },
  logAlert: {
    usd: 1.5,
    per: 'month and rule that is evaluated every 5 minutes',
    source: page('monitor'),
    noted,
  },
  urgentLogAlert: {
    usd: 3,
    per: 'month and rule that is evaluated every minute',
    source: page('monitor'),
    noted: '2026-11-25',
  },
  slowLogAlert: {
    usd: 0.5,
    per: 'month and rule that is evaluated every 15 minutes',
    source: page('monitor'),
    noted: '2026-11-25',
  },
  metricAlert: { usd: 0.1, per: 'month and time series', source: page('monitor'), noted },
} as const satisfies Record<string, Price>;

/** Free grant of Flex Consumption to each subscription each month. */
export const grant = { gbSeconds: 100_000, executions: 250_000 };
