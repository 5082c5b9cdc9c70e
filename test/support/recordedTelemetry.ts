import type { Attributes, Telemetry } from '../../packages/leases/src/telemetry.ts';

export interface RecordedTelemetry extends Telemetry {
  readonly reports: { name: string; value: number; attributes: Attributes }[];
  /** The values reported for a metric. */
  values(name: string): number[];
}

export function recordedTelemetry(): RecordedTelemetry {
  const reports: RecordedTelemetry['reports'] = [];
  const add = (name: string, value: number, attributes: Attributes = {}) => {
    reports.push({ name, value, attributes });
  };
  return {
    reports,
    count: (name, attributes, by = 1) => add(name, by, attributes),
    record: (name, value, attributes) => add(name, value, attributes),
    values: (name) => reports.filter((report) => report.name === name).map(({ value }) => value),
  };
}
