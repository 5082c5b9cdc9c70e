import { wholeNumberArgument } from '../../packages/local-azure/src/wholeNumberArgument.ts';
import type { PaymentsOptions } from './index.ts';

/** The options of `PaymentsOptions` that pace calls. */
export type Traffic = Pick<PaymentsOptions, 'rate' | 'searchRate' | 'accountRate' | 'latencyMs'>;

const perSecond = { min: 1, of: 'calls per second' };
const milliseconds = { min: 0, of: 'milliseconds' };

/**
 * Reads `--rate`, `--search-rate`, `--account-rate` and `--latency`, whose names may have a prefix:
 * `--payments-rate`. Exits with code 2 if one is invalid.
 */
export function trafficArguments(
  values: Readonly<Record<string, string | boolean | undefined>>,
  prefix = '',
): Traffic {
  const read = (name: string, limits: { min: number; of: string }) => {
    const value = values[`${prefix}${name}`];
    return typeof value === 'string' ? wholeNumberArgument(`--${prefix}${name}`, value, limits) : undefined;
  };
  const rate = read('rate', perSecond);
  const searchRate = read('search-rate', perSecond);
  const accountRate = read('account-rate', perSecond);
  const latencyMs = read('latency', milliseconds);
  return {
    ...(rate === undefined ? {} : { rate }),
    ...(searchRate === undefined ? {} : { searchRate }),
    ...(accountRate === undefined ? {} : { accountRate }),
    ...(latencyMs === undefined ? {} : { latencyMs }),
  };
}
