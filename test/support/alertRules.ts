import { z } from 'zod';
import type { Attributes } from '../../packages/leases/src/telemetry.ts';
import { metricPrefix } from '../../src/platform/appMetrics.ts';
import { variableValue } from '../infra/bicep/evaluate.ts';
import { readInfra } from '../infra/bicep/readBicep.ts';
import type { Row } from './kql/evaluateKql.ts';
import { runKql } from './kql/runKql.ts';

const alertList = z.array(
  z.object({
    name: z.string(),
    title: z.string(),
    severity: z.number(),
    window: z.string(),
    look: z.string(),
    query: z.string(),
  }),
);
export type AlertRule = z.infer<typeof alertList>[number];

/** Default values of the parameters of infra/. */
const defaults = {
  invoiceIntervalSeconds: 300,
  shardGroups: 4,
  lockContentionThreshold: 200,
  paymentRate: 25,
};

/** The alert rules of infra/modules/alerts.bicep. */
export function alertRules(given: Partial<Record<keyof typeof defaults, number>> = {}): AlertRule[] {
  return alertList.parse(
    variableValue(readInfra('modules/alerts.bicep'), 'alerts', { ...defaults, ...given }),
  );
}

/** A metric as it was reported, and when (milliseconds). */
export interface Report {
  at: number;
  name: string;
  value: number;
  attributes: Attributes;
}

/** The alerts whose query yields a row at `now` (milliseconds), given what was reported, and the rows. */
export function firing(
  rules: readonly AlertRule[],
  reports: readonly Report[],
  now: number,
): Map<string, Row[]> {
  const found = rules.map(({ name, query, window }) => {
    const since = now - windowMs(window);
    const customMetrics = reports.filter(({ at }) => at > since && at <= now).map(rowOf);
    return [name, runKql(query, { customMetrics, requests: [], traces: [] }, now)] as const;
  });
  return new Map(found.filter(([, rows]) => rows.length > 0));
}

/** Application Insights sums the values of a minute in one row; the queries come to the same over single values. */
function rowOf({ at, name, value, attributes }: Report): Row {
  return {
    timestamp: at,
    name: `${metricPrefix}${name}`,
    valueSum: value,
    valueMin: value,
    valueMax: value,
    valueCount: 1,
    customDimensions: attributes,
  };
}

const unitMs = { M: 60_000, H: 3_600_000, D: 86_400_000 } as const;

/** An ISO 8601 duration as rules have it: PT15M, PT1H, P1D. */
function windowMs(window: string): number {
  const [, count, unit] = /^PT?(\d+)([MHD])$/.exec(window) ?? [];
  if (unit === undefined) throw new Error(`not a window: ${window}`);
  return Number(count) * unitMs[unit as keyof typeof unitMs];
}
