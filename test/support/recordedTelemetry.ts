import type { Attributes } from '@opentelemetry/api';
import type { Metric, Telemetry } from '../../src/platform/telemetry.ts';

export interface RecordedTelemetry extends Telemetry {
  readonly reports: { name: Metric; value: number; attributes: Attributes }[];
  /** The values reported for a metric. */
  values(name: Metric): number[];
}

export function recordedTelemetry(): RecordedTelemetry {
  const reports: RecordedTelemetry['reports'] = [];
  const add = (name: Metric, value: number, attributes: Attributes = {}) => {
    reports.push({ name, value, attributes });
  };
  return {
    reports,
    count: (name, attributes, by = 1) => add(name, by, attributes),
    record: (name, value, attributes) => add(name, value, attributes),
    values: (name) => reports.filter((report) => report.name === name).map(({ value }) => value),
  };
}
