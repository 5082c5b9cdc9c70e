import type { Alerts } from './monthlyCosts.ts';

/** How many alerts alerts.bicep creates: a rule on logs for each entry of its list, and those on metrics. */
export function alertsIn(bicep: string): Alerts {
  const [, list = ''] = /^var alerts = \[\n([\s\S]*?)^\]$/m.exec(bicep) ?? [];
  return {
    log: [...list.matchAll(/^ {4}name: '/gm)].length,
    metric: [...bicep.matchAll(/'Microsoft\.Insights\/metricAlerts@/g)].length,
  };
}
