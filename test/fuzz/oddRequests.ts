import type { Route } from '../support/httpRoutes.ts';
import type { seededRandom } from '../support/seededRandom.ts';

type Random = ReturnType<typeof seededRandom>;

export interface OddRequest extends Route {
  headers: Record<string, string>;
  body?: string | Buffer;
  /** Valid rows of an import, which must be stored as they are: none behind a place where the body is no JSON. */
  rows: readonly Row[];
  /** The import must be answered with 400: its body is no JSON. */
  isBroken?: boolean;
  /** The sender breaks the connection so long after the beginning of a chunked body (ms), and waits for no answer. */
  leavesAfterMs?: number;
}

/** An invoice as it is sent and as it must be stored. */
export interface Row {
  id: string;
  customerId: string;
  amountMinor: number;
  currency: string;
  dueAt: string;
  description: string;
}

/** An element of an array that ends its reading. */
const noJson = '{"id":}';

const oddTexts = [
  [
    '',
    ' ',
    '.',
    '..',
    '%',
    '%00',
    '%2e%2e',
    '../x',
    'a/b',
    'a\\b',
    'a?b',
    'a#b',
    "a'b",
    '"',
    '{}',
    '[]',
    'null',
  ],
  [
    '\u200b',
    '\u202e',
    '\ufeff',
    '\ud800',
    '😀',
    'ä'.repeat(600),
    'x'.repeat(3_000),
    '\u0000',
    '\r\n',
    '-1',
    '1e999',
  ],
  [
    '__proto__',
    'constructor',
    'toString',
    '$ne',
    "' OR 1=1",
    'true',
    '2026-01-01',
    '9999-99-99',
    ':fence:x',
    '00',
  ],
].flat();

const names = [
  'status',
  'continuation',
  'customer',
  'customerId',
  'day',
  'from',
  'to',
  'currency',
  'job',
  'dueAfter',
];
const fields = [
  [
    'id',
    'reason',
    'job',
    'dryRun',
    'resume',
    'groups',
    'key',
    'expectedOwner',
    'ids',
    'dueAt',
    'amountMinor',
  ],
  [
    'notCharged',
    'paymentMethod',
    'action',
    'filter',
    'until',
    'cap',
    'queue',
    'customerId',
    'currency',
    '__proto__',
  ],
].flat();
const types = [
  'application/json',
  'application/json',
  'text/csv',
  'text/plain',
  'nonsense',
  'text/csv; charset=latin1',
];

/** Calls that change much at once: a body that happens to be valid would spoil the comparison. */
const sweeping = /bulk|pause|resume|discard|locks\/release/;

/** Requests that no caller should send, to any route; the same seed makes the same ones. */
export function oddRequests({
  random,
  routes,
  known,
}: {
  random: Random;
  routes: readonly Route[];
  known: readonly string[];
}) {
  let rowsSoFar = 0;
  const chance = (share: number) => random.next() < share;

  return function next(): OddRequest {
    const route = random.pick(routes);
    if (route.path === 'ops/invoices' && route.method === 'POST' && chance(0.7))
      return { ...route, ...anImport() };
    const usesKnown = chance(0.3);
    const path = route.path.replace(/\{[^}]+\}/g, () =>
      encodeURIComponent((usesKnown ? random.pick(known) : random.pick(oddTexts)).toWellFormed()),
    );
    const query = chance(0.4) ? `?${Array.from({ length: random.between(1, 3) }, pair).join('&')}` : '';
    const method = chance(0.05) ? random.pick(['PUT', 'DELETE', 'PATCH', 'POST', 'OPTIONS']) : route.method;
    const request = { method, path: path + query, headers: headers(), rows: [] };
    if (chance(0.03)) return { ...request, leavesAfterMs: random.between(0, 10) };
    if (method === 'GET') return request;
    return { ...request, body: body(usesKnown || sweeping.test(route.path)) };
  };

  function pair(): string {
    const name = chance(0.7) ? random.pick(names) : random.pick(oddTexts);
    return `${encodeURIComponent(name.toWellFormed())}=${encodeURIComponent(random.pick(oddTexts).toWellFormed())}`;
  }

  function headers(): Record<string, string> {
    const odd = () => random.pick(oddTexts).replace(/[^\x20-\x7e]/g, '?');
    return {
      'content-type': random.pick(types),
      ...(chance(0.3) ? { 'idempotency-key': odd() } : {}),
      ...(chance(0.3) ? { 'x-ms-client-principal-name': odd() } : {}),
      ...(chance(0.03) ? { 'x-ms-invocation-id': odd() } : {}),
      ...(chance(0.1) ? { accept: random.pick(['text/csv', '*/*', odd()]) } : {}),
    };
  }

  /** `mustFail`: an object gets a field that no call knows. */
  function body(mustFail: boolean): string | Buffer {
    const kind = random.next();
    if (kind < 0.1)
      return Buffer.from(Array.from({ length: random.between(0, 200) }, () => random.between(0, 255)));
    if (kind < 0.15) return '['.repeat(5_000) + ']'.repeat(5_000);
    if (kind < 0.18) return JSON.stringify({ reason: 'x'.repeat(100_000) });
    const value = object(2);
    const text = JSON.stringify(mustFail ? { ...value, fuzz: 1 } : value);
    return kind < 0.3 ? text.slice(0, random.between(0, text.length)) : text;
  }

  function object(depth: number): Record<string, unknown> {
    return Object.fromEntries(
      Array.from({ length: random.between(0, 4) }, () => [random.pick(fields), value(depth)] as const),
    );
  }

  function value(depth: number): unknown {
    switch (random.between(0, depth > 0 ? 7 : 4)) {
      case 0:
        return random.pick([0, -1, 1.5, 1e308, 2 ** 53, true, false, null]);
      case 5:
        return Array.from({ length: random.between(0, 3) }, () => value(depth - 1));
      case 6:
        return object(depth - 1);
      case 7:
        return 'process-invoices';
      default:
        return random.pick(oddTexts);
    }
  }

  function anImport(): Pick<OddRequest, 'body' | 'headers' | 'rows' | 'isBroken'> {
    const rows = Array.from({ length: random.between(0, 5) }, row);
    const asCsv = chance(0.5);
    const parts = rows.map((each) => (asCsv ? csvLine(each) : JSON.stringify(each)));
    for (let bad = random.between(0, 4); bad > 0; bad--) {
      parts.splice(random.between(0, parts.length), 0, asCsv ? badLine() : badElement());
    }
    const header = 'id,customerId,amount,currency,dueAt,description';
    const ends = ['\n', '\r\n', '\r'];
    const text = asCsv
      ? [header, ...parts].map((line) => line + random.pick(ends)).join('')
      : `[${parts.join()}]`;
    const headers = { 'content-type': asCsv ? 'text/csv' : 'application/json' };
    const brokenAt = parts.indexOf(noJson);
    if (brokenAt === -1) return { rows, body: text, headers };
    const before = rows.filter((each) => parts.indexOf(JSON.stringify(each)) < brokenAt);
    return { rows: before, isBroken: true, body: text, headers };
  }

  function row(): Row {
    return {
      id: `fuzz-${rowsSoFar++}`,
      customerId: random.pick(['cus_1', 'Zoë', 'a,b', 'a"b']),
      amountMinor: random.between(100, 1_000_000),
      currency: 'EUR',
      dueAt: '2099-01-01T00:00:00.000Z',
      description: random.pick(['x', 'a "quote"', 'two\r\nlines', 'a,b', '=1+1', "'", 'ä😀', '\u200b']),
    };
  }

  function badLine(): string {
    return random.pick([
      'a"',
      'a,"b"c',
      ',,,',
      'a,b',
      '"\n"',
      'a,b,1.00,EUR,2099-01-01T00:00:00Z,x,y',
      'a'.repeat(20_000),
    ]);
  }

  function badElement(): string {
    return random.pick([
      '{}',
      '7',
      'null',
      noJson,
      '[[[]]]',
      `${'['.repeat(5_000)}${']'.repeat(5_000)}`,
      JSON.stringify(object(3)),
    ]);
  }
}

function csvLine({ id, customerId, amountMinor, currency, dueAt, description }: Row): string {
  const amount = `${Math.floor(amountMinor / 100)}.${String(amountMinor % 100).padStart(2, '0')}`;
  const cells = [id, customerId, amount, currency, dueAt, description];
  return cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join();
}
