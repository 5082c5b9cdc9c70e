import type { ScaleOptions, ScaleResult } from './simulateScale.ts';

/** A row of the table in docs/scale.md with its head, and the requests to Cosmos DB by what they are for. */
export function tableOf({ invoices, instances, rate }: ScaleOptions, result: ScaleResult): string[] {
  const whole = (value: number) => Math.round(value).toLocaleString('en');
  const columns: Readonly<Record<string, string>> = {
    invoices: whole(invoices),
    instances: whole(instances),
    'charges a second': whole(rate),
    seconds: result.seconds.toFixed(1),
    'of the ideal': (result.seconds / result.idealSeconds).toFixed(3),
    'claims per invoice': result.claimsPerInvoice.toFixed(4),
    refused: `${(100 * result.refusedShare).toFixed(2)} %`,
    'open at most': whole(result.mostOpen),
    'Cosmos requests per invoice': result.cosmosPerInvoice.toFixed(3),
    'RU per invoice': result.requestUnitsPerInvoice.toFixed(1),
    'RU a second': whole(result.requestUnitsPerSecond),
    MB: whole(result.memoryMb),
    'real seconds': whole(result.wallSeconds),
  };
  const names = Object.keys(columns);
  return [
    `| ${names.join(' | ')} |`,
    `|${' --- |'.repeat(names.length)}`,
    `| ${Object.values(columns).join(' | ')} |`,
    Object.entries(result.cosmosByName)
      .map(([name, times]) => `${name} ${times}`)
      .join(', '),
  ];
}
