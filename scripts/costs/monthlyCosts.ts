import { grant, prices } from './prices.ts';
import { hours, perInvoice, perMonth } from './usage.ts';

export interface CostLine {
  name: string;
  usd: number;
}

export interface Alerts {
  /** Rules on logs that are evaluated every minute. */
  urgent: number;
  /** Rules on logs that are evaluated every five minutes. */
  log: number;
  metric: number;
}

/** Calculates the costs of the app in a month with so many paid invoices, line by line, on serverless Cosmos DB. */
export function monthlyCosts(invoices: number, alerts: Alerts): CostLine[] {
  const executions = perMonth.executions.value + invoices * perInvoice.executions.value;
  const gbSeconds =
    perMonth.executions.value * perMonth.gbSecondsPerExecution.value + invoices * perInvoice.gbSeconds.value;
  const functions =
    Math.max(0, gbSeconds - grant.gbSeconds) * prices.gbSecond.usd +
    (Math.max(0, executions - grant.executions) / 1e6) * prices.millionExecutions.usd;
  const storage =
    (invoices * perInvoice.blobWrites.value * prices.blobWrites.usd +
      perMonth.storageOperations.value * prices.blobOther.usd +
      invoices * perInvoice.queueOperations.value * prices.queueOperations.usd) /
    10_000;
  const onLogs = roundedUp(alerts.log);
  const logs = (perMonth.logGigabytes.value + invoices * perInvoice.logGigabytes.value) * prices.logsGb.usd;
  return [
    {
      name: 'Cosmos DB, requests (serverless)',
      usd: (requestUnits(invoices) / 1e6) * prices.cosmosMillionRu.usd,
    },
    {
      name: 'Cosmos DB, storage of one month',
      usd: invoices * perInvoice.gigabytes.value * prices.cosmosGb.usd,
    },
    { name: 'Storage: receipts, queues, leases', usd: storage },
    { name: 'Service Bus Standard', usd: prices.serviceBusStandard.usd },
    { name: 'Functions', usd: functions },
    { name: 'Logs', usd: logs },
    {
      name: `Alerts (up to ${onLogs} on logs, ${alerts.urgent} more of every minute, ${alerts.metric} on a metric)`,
      usd: alertCosts(alerts),
    },
  ];
}

export function alertCosts({ urgent, log, metric }: Alerts): number {
  return (
    roundedUp(log) * prices.logAlert.usd +
    urgent * prices.urgentLogAlert.usd +
    metric * prices.metricAlert.usd
  );
}

/** Calculates what a month costs less if all log rules but the urgent ones are evaluated every quarter of an hour. */
export function slowAlertsSave({ log }: Alerts): number {
  return roundedUp(log) * (prices.logAlert.usd - prices.slowLogAlert.usd);
}

/** In steps of five, so that one alert more does not make the page wrong. */
function roundedUp(rules: number): number {
  return Math.ceil(rules / 5) * 5;
}

/** RU of a month, idle requests included. */
export function requestUnits(invoices: number): number {
  return (
    perMonth.cosmosRequests.value * perMonth.ruPerRequest.value + invoices * perInvoice.requestUnits.value
  );
}

/**
 * The price of a month on autoscale, if invoices are paid `chargesPerSecond` at a time. Each hour is billed for its peak, at
 * least a tenth of the maximum, which is a multiple of 1,000 RU/s.
 */
export function autoscale(invoices: number, chargesPerSecond: number): { maxRu: number; usd: number } {
  const peak = chargesPerSecond * perInvoice.requestUnits.value;
  const maxRu = Math.max(1_000, Math.ceil(peak / 1_000) * 1_000);
  const busyHours = Math.min(hours, invoices / chargesPerSecond / 3600);
  const billed = busyHours * Math.max(peak, maxRu / 10) + (hours - busyHours) * (maxRu / 10);
  return { maxRu, usd: (billed / 100) * prices.cosmosAutoscale.usd };
}

/**
 * The mean use of an autoscale maximum, as a share of it, above which autoscale is cheaper than serverless: of a load that
 * never changes, and of one that touches the maximum in each hour.
 */
export function breakEven(): { steady: number; peaks: number } {
  const fullPerMillionRu = (prices.cosmosAutoscale.usd / (100 * 3600)) * 1e6;
  const peaks = fullPerMillionRu / prices.cosmosMillionRu.usd;
  // An hour is billed for a tenth of the maximum at least.
  return { steady: peaks / 10, peaks };
}
