import {
  type Alerts,
  alertCosts,
  autoscale,
  breakEven,
  monthlyCosts,
  slowAlertsSave,
} from './monthlyCosts.ts';
import { prices } from './prices.ts';
import { type Figure, perInvoice, perMonth } from './usage.ts';

const columns = [1_000, 100_000, 10_000_000];
/** The charges a second that Stripe allows by default. */
const chargesPerSecond = 25;

/** The generated part of docs/cost.md: the table, the counts and the prices behind it. */
export function costPage(alerts: Alerts): string {
  return [costTable(alerts), alternatives(alerts), figures(), priceTable()].join('\n\n');
}

function costTable(alerts: Alerts): string {
  const byColumn = columns.map((invoices) => monthlyCosts(invoices, alerts));
  const lines = (byColumn[0] ?? []).map(({ name }, line) =>
    row([name, ...byColumn.map((costs) => money(costs[line]?.usd ?? 0))]),
  );
  const totals = byColumn.map((costs) => costs.reduce((sum, { usd }) => sum + usd, 0));
  return [
    row(['US dollars a month', ...columns.map((invoices) => `${thousands(invoices)} invoices`)]),
    row(['---', ...columns.map(() => '---')]),
    ...lines,
    row(['**total, about**', ...totals.map((usd) => `**${Math.round(usd)}**`)]),
  ].join('\n');
}

function alternatives(alerts: Alerts): string {
  const { steady, peaks } = breakEven();
  const scaled = columns.map((invoices) => {
    const { maxRu, usd } = autoscale(invoices, chargesPerSecond);
    return `${money(usd)} for ${thousands(invoices)}, with a maximum of ${thousands(maxRu)} RU/s`;
  });
  const network =
    prices.serviceBusPremium.usd - prices.serviceBusStandard.usd + 6 * prices.privateEndpoint.usd;
  const idle = monthlyCosts(0, alerts).reduce((sum, { usd }) => sum + usd, 0);
  return [
    `Alerts are ${Math.round((alertCosts(alerts) / idle) * 100)} % of the bill of an idle app. If all but the urgent ones were evaluated every 15 minutes, it would be ${money(slowAlertsSave(alerts))} less (\`evaluationFrequency\` in \`infra/modules/alerts.bicep\`): for a test environment, because an alert then comes up to ten minutes later.`,
    `Autoscale in place of serverless requests, at ${chargesPerSecond} charges a second: ${scaled.join('; ')}. It is cheaper above a mean use of ${percent(steady)} of its maximum under a load that never changes, and above ${percent(peaks)} if every hour touches the maximum.`,
    `Private networking adds about ${Math.round(network)}: Service Bus Premium and six private endpoints.`,
  ].join('\n\n');
}

function figures(): string {
  const rows = (group: string, all: Record<string, Figure>) =>
    Object.entries(all).map(([name, { value, basis, how }]) =>
      row([group, words(name), number(value), basis, how]),
    );
  return [
    row(['per', 'figure', 'value', 'basis', 'how']),
    row(['---', '---', '---', '---', '---']),
    ...rows('invoice', perInvoice),
    ...rows('month', perMonth),
  ].join('\n');
}

function priceTable(): string {
  return [
    row(['price', 'per', 'noted', 'source']),
    row(['---', '---', '---', '---']),
    ...Object.values(prices).map(({ usd, per, noted, source }) =>
      row([String(usd), per, noted, `[page](${source})`]),
    ),
  ].join('\n');
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

function money(usd: number): string {
  return usd < 10 ? usd.toFixed(2) : usd.toFixed(0);
}

function number(value: number): string {
  return value >= 1000 ? thousands(Math.round(value)) : String(value);
}

function thousands(value: number): string {
  return value.toLocaleString('en-US');
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

/** `gbSeconds` as `gb seconds`. */
function words(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
