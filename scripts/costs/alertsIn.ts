import type { Alerts } from './monthlyCosts.ts';

/**
 * The number of alerts that alerts.bicep creates: a rule on logs for each entry of its list, of which some are evaluated every
 * minute, and those on metrics.
 */
export function alertsIn(bicep: string): Alerts {
  const [, list = ''] = /^var alerts = \[\n([\s\S]*?)^\]$/m.exec(bicep) ?? [];
  const [, often = ''] = /^var urgent = \[(.*)\]$/m.exec(bicep) ?? [];
  const urgent = [...often.matchAll(/'/g)].length / 2;
  return {
    urgent,
    log: [...list.matchAll(/^ {4}name: '/gm)].length - urgent,
    metric: [...bicep.matchAll(/'Microsoft\.Insights\/metricAlerts@/g)].length,
  };
}
