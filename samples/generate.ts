/**
 * Writes samples/invoices.csv: `node samples/generate.ts`. The file is the same every time; the README beside
 * it says what it contains, and a test checks both. Times are fixed: 2025 is past, 2099 is not.
 */
import { writeFileSync } from 'node:fs';

interface Row {
  id: string;
  customerId: string;
  amount: string;
  currency: string;
  dueAt: string;
  paymentMethod: string;
  description: string;
}

type Column = keyof Row;
const header: readonly Column[] = [
  'id',
  'customerId',
  'amount',
  'currency',
  'dueAt',
  'paymentMethod',
  'description',
];

/** Due invoices by payment method. `pm_local_…` exist only in the local stand-in for Stripe. */
const due: readonly (readonly [count: number, paymentMethod: string])[] = [
  [160, 'pm_card_visa'],
  [90, 'pm_card_mastercard'],
  [30, 'pm_card_amex'],
  [20, 'pm_card_visa_debit'],
  [12, 'pm_card_chargeDeclinedInsufficientFunds'],
  [4, 'pm_card_visa_chargeDeclinedVelocityLimitExceeded'],
  [4, 'pm_card_chargeDeclinedProcessingError'],
  [6, 'pm_card_chargeDeclinedExpiredCard'],
  [2, 'pm_card_visa_chargeDeclinedLostCard'],
  [2, 'pm_card_visa_chargeDeclinedStolenCard'],
  [2, 'pm_card_chargeDeclinedFraudulent'],
  [2, 'pm_card_authenticationRequired'],
  [2, 'pm_local_timeoutBeforeChargeOnce'],
  [3, 'pm_local_timeoutAfterChargeOnce'],
  [1, 'pm_local_resetBeforeChargeOnce'],
  [2, 'pm_local_resetAfterChargeOnce'],
  [1, 'pm_local_serverErrorOnce'],
  [1, 'pm_local_rateLimitOnce'],
];
const dueLater = 40;

/** The customers, with their currency and UTC offset. */
const customers = [
  { id: 'cus_NorthfieldBakery', currency: 'GBP', offset: '+00:00' },
  { id: 'cus_AtelierMoreau', currency: 'EUR', offset: '+01:00' },
  { id: 'cus_BergmannOptik', currency: 'EUR', offset: '+01:00' },
  { id: 'cus_RioVerdeCoffee', currency: 'BRL', offset: '-03:00' },
  { id: 'cus_HarborStreetDental', currency: 'USD', offset: '-05:00' },
  { id: 'cus_CedarAndFinch', currency: 'USD', offset: '-08:00' },
  { id: 'cus_MapleRidgeVet', currency: 'CAD', offset: '-05:00' },
  { id: 'cus_SakuraStationery', currency: 'JPY', offset: '+09:00' },
  { id: 'cus_HanRiverStudio', currency: 'KRW', offset: '+09:00' },
  { id: 'cus_AlpenblickHotel', currency: 'CHF', offset: '+01:00' },
  { id: 'cus_KungsholmenCykel', currency: 'SEK', offset: '+01:00' },
  { id: 'cus_BosphorusTextiles', currency: 'TRY', offset: '+03:00' },
  { id: 'cus_AlSalamTrading', currency: 'KWD', offset: '+03:00' },
  { id: 'cus_CarthagePottery', currency: 'TND', offset: '+01:00' },
  { id: 'cus_PearlBayLogistics', currency: 'BHD', offset: '+03:00' },
  { id: 'cus_IndusSpices', currency: 'INR', offset: '+05:30' },
] as const;

const products = [
  'Hosting, business plan',
  'Support, 24 × 7',
  'Analytics add-on',
  'Domain renewal',
  'Backup storage, 500 GB',
  'Mailboxes (25)',
  'Licence "Team", yearly',
  'Consulting, 2 hours',
  'Übersetzung der Webseite',
];

/** Units of the currency per price point, roughly, and its decimals. Stripe requires 0 as a third decimal. */
const currencies: Record<string, { worth: number; decimals: number }> = {
  GBP: { worth: 1, decimals: 2 },
  EUR: { worth: 1, decimals: 2 },
  USD: { worth: 1, decimals: 2 },
  CAD: { worth: 1, decimals: 2 },
  CHF: { worth: 1, decimals: 2 },
  BRL: { worth: 5, decimals: 2 },
  SEK: { worth: 10, decimals: 2 },
  TRY: { worth: 30, decimals: 2 },
  INR: { worth: 80, decimals: 2 },
  JPY: { worth: 150, decimals: 0 },
  KRW: { worth: 1300, decimals: 0 },
  KWD: { worth: 1, decimals: 3 },
  TND: { worth: 3, decimals: 3 },
  BHD: { worth: 1, decimals: 3 },
};

/** Returns the whole file. */
export function generateSample(): string {
  const random = randomNumbers(20_250_101);
  const pick = <T>(from: readonly T[]): T => {
    const picked = from[Math.floor(random() * from.length)];
    if (picked === undefined) throw new RangeError('nothing to pick from');
    return picked;
  };
  let number = 0;
  const row = (year: number, paymentMethod: string): Row => {
    const customer = pick(customers);
    const month = 1 + Math.floor(random() * 12);
    const day = 1 + Math.floor(random() * 28);
    const hour = 8 + Math.floor(random() * 10);
    number++;
    return {
      id: `INV-${year}-${String(number).padStart(4, '0')}`,
      customerId: customer.id,
      amount: amountIn(customer.currency, random),
      currency: customer.currency,
      dueAt: `${year}-${two(month)}-${two(day)}T${two(hour)}:00:00${customer.offset}`,
      paymentMethod,
      description: random() < 0.1 ? '' : `${pick(products)}, ${two(month)}/${year}`,
    };
  };
  const good = [
    ...due.flatMap(([count, method]) => Array.from({ length: count }, () => row(2025, method))),
    ...Array.from({ length: dueLater }, () => row(2099, 'pm_card_visa')),
  ];
  const lines = shuffled(good, random).map(line);
  return `${[header.join(','), ...withOthers(lines, good)].join('\n')}\n`;
}

/** Spreads the bad rows among the good ones and appends those that repeat an earlier row. */
function withOthers(lines: readonly string[], good: readonly Row[]): string[] {
  const [first, second] = good;
  if (first === undefined || second === undefined) throw new RangeError('too few rows');
  const bad = (n: number, change: Partial<Row>) => line({ ...first, id: `INV-BAD-${two(n)}`, ...change });
  const wrong = [
    bad(1, { amount: '19.999', currency: 'USD' }),
    bad(2, { amount: '500.50', currency: 'JPY' }),
    bad(3, { amount: '-42.00', currency: 'EUR' }),
    bad(4, { amount: '1,250.00', currency: 'USD' }),
    bad(5, { amount: '0.00', currency: 'EUR' }),
    bad(6, { amount: '1000000.00', currency: 'USD' }),
    bad(7, { currency: 'EURO' }),
    bad(8, { amount: '10.00', currency: 'usd' }),
    bad(9, { id: 'INV/2025/0009' }),
    bad(10, { customerId: '' }),
    bad(11, { dueAt: '2025-02-30T09:00:00Z' }),
    bad(12, { dueAt: '2025-03-01T09:00:00' }),
    'INV-BAD-13,cus_CedarAndFinch,10.00,USD',
  ];
  const repeated = [
    line({ ...second, amount: '1.00', currency: 'EUR', description: 'The same id, with other content' }),
    line(first),
    line(second),
  ];
  const step = Math.floor(lines.length / wrong.length);
  const mixed = lines.flatMap((text, place) => {
    const other = place % step === step - 1 ? wrong[Math.floor(place / step)] : undefined;
    return other === undefined ? [text] : [text, other];
  });
  return [...mixed, ...repeated];
}

function amountIn(currency: string, random: () => number): string {
  const { worth, decimals } = currencies[currency] ?? { worth: 1, decimals: 2 };
  const hundredths = Math.floor((5 + random() ** 3 * 900) * worth) * 100 + Math.floor(random() * 100);
  const units = Math.floor(hundredths / 100);
  if (decimals === 0) return String(units);
  return `${units}.${two(hundredths % 100)}${decimals === 3 ? '0' : ''}`;
}

function line(row: Row): string {
  return header.map((column) => quotedIfNeeded(row[column])).join(',');
}

function quotedIfNeeded(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}

/** Seeded pseudo-random numbers in [0, 1) (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function shuffled<T>(all: readonly T[], random: () => number): T[] {
  return all
    .map((value) => ({ value, key: random() }))
    .toSorted((a, b) => a.key - b.key)
    .map(({ value }) => value);
}

if (import.meta.main) writeFileSync(new URL('invoices.csv', import.meta.url), generateSample());
