import type { Meter } from '@opentelemetry/api';
import type { Telemetry } from '@payonce/leases/telemetry';

/** Reports to a meter of OpenTelemetry, with `prefix` before each name. Get it after the provider is registered. */
export function openTelemetryMetrics(meter: Meter, prefix = ''): Telemetry {
  const counters = new Map<string, ReturnType<Meter['createCounter']>>();
  const histograms = new Map<string, ReturnType<Meter['createHistogram']>>();
  return {
    count(name, attributes, by = 1) {
      const counter = counters.get(name) ?? meter.createCounter(`${prefix}${name}`);
      counters.set(name, counter);
      counter.add(by, attributes);
    },
    record(name, value, attributes) {
      const histogram = histograms.get(name) ?? meter.createHistogram(`${prefix}${name}`);
      histograms.set(name, histogram);
      histogram.record(value, attributes);
    },
  };
}
