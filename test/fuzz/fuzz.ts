import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import pLimit from 'p-limit';
import { z } from 'zod';
import { callIds } from '../../src/ops/calls.ts';
import { httpRoutes } from '../support/httpRoutes.ts';
import { seededRandom } from '../support/seededRandom.ts';
import { type OddRequest, oddRequests, type Row } from './oddRequests.ts';

export interface FuzzResult {
  /** Number of answers by status. */
  statuses: ReadonlyMap<number, number>;
  /** Valid rows that were sent in imports. */
  rows: number;
  problems: string[];
}

const atOnce = 8;
const mostAnswerBytes = 1_048_576;
/** The store of locks cannot do what was asked. */
const notImplemented = 501;
const pageSchema = z.object({
  invoices: z.array(z.looseObject({ id: z.string() })),
  continuation: z.string().nullable(),
});
const agent = new Agent({ keepAlive: true, maxSockets: atOnce });

/**
 * Sends odd requests to every route of a host: none may be answered with 5xx or with a secret, every valid row of an import
 * must be stored as it was sent, nothing else may change or appear, and no invocation may stay open. `address` is the host's, without a path.
 */
export async function fuzz(
  address: string,
  { requests, seed, secrets }: { requests: number; seed: number; secrets: readonly string[] },
): Promise<FuzzResult> {
  const statuses = new Map<number, number>();
  const problems: string[] = [];
  const known = await storeKnown(address);
  const before = await allInvoices(address);
  const next = oddRequests({ random: seededRandom(seed), routes: httpRoutes(), known });
  const sent = Array.from({ length: requests }, next);
  const limit = pLimit(atOnce);
  await Promise.all(sent.map((request) => limit(() => judge(request))));
  const rows = sent.flatMap((request) => request.rows);
  problems.push(...differences(before, rows, await allInvoices(address)));
  problems.push(...(await openInvocations(address)));
  return { statuses, rows: rows.length, problems };

  async function judge(request: OddRequest): Promise<void> {
    if (request.leavesAfterMs !== undefined) return leave(address, request, request.leavesAfterMs);
    const { status, text } = await send(address, request);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    const what = `${request.method} ${request.path.slice(0, 200)} ${String(request.body ?? '').slice(0, 200)}`;
    if (status >= 500 && status !== notImplemented)
      problems.push(`${status}: ${what}: ${text.slice(0, 200)}`);
    const isImport = request.rows.length > 0;
    if (request.isBroken === true && status !== 400)
      problems.push(`${status} for an import that is no JSON: ${what}: ${text.slice(0, 300)}`);
    else if (isImport && request.isBroken !== true && status !== 200)
      problems.push(`${status} for an import with good rows: ${what}: ${text.slice(0, 300)}`);
    if (text.length > mostAnswerBytes && !request.path.startsWith('ops/invoices.csv'))
      problems.push(`an answer of ${text.length} characters: ${what}`);
    if (secrets.some((secret) => text.includes(secret))) problems.push(`a secret in the answer: ${what}`);
  }
}

/** Invoices that must stay as they are. Returns their ids. */
async function storeKnown(address: string): Promise<string[]> {
  const rows = Array.from({ length: 20 }, (_, n) => ({
    id: `known-${n}`,
    customerId: 'cus_known',
    amountMinor: 1_000 + n,
    currency: 'USD',
    dueAt: '2099-01-01T00:00:00Z',
  }));
  const { status } = await send(address, {
    method: 'POST',
    path: 'ops/invoices',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(rows),
  });
  if (status !== 200) throw new Error(`the first import answered ${status}`);
  return rows.map(({ id }) => id);
}

const invocationsSchema = z.record(z.string(), z.string());
/** Milliseconds in which what was asked for before must have ended: the longest import takes a second. */
const patienceMs = 10_000;

/** Invocations of HTTP functions that do not end, although nothing is asked for any more. */
export async function openInvocations(address: string): Promise<string[]> {
  const ofHttp = new Set<string>([...callIds, 'receiveEvent', 'getDashboard']);
  const until = performance.now() + patienceMs;
  for (;;) {
    const answer = await fetch(`${address}/_local/invocations`);
    const running = Object.entries(invocationsSchema.parse(await answer.json()));
    const open = running.filter(([, name]) => ofHttp.has(name));
    if (open.length === 0 || performance.now() > until)
      return open.map(([id, name]) => `open: ${name} ${id}`);
    await delay(100);
  }
}

async function allInvoices(address: string): Promise<Map<string, Record<string, unknown>>> {
  const found = new Map<string, Record<string, unknown>>();
  for (let continuation: string | null = ''; continuation !== null;) {
    const query = continuation === '' ? '' : `?continuation=${continuation}`;
    const { text } = await send(address, { method: 'GET', path: `ops/invoices${query}`, headers: {} });
    const page = pageSchema.parse(JSON.parse(text));
    for (const invoice of page.invoices) found.set(invoice.id, invoice);
    continuation = page.continuation;
  }
  return found;
}

function differences(
  before: ReadonlyMap<string, unknown>,
  rows: readonly Row[],
  after: ReadonlyMap<string, Record<string, unknown>>,
): string[] {
  const expected = new Set([...before.keys(), ...rows.map(({ id }) => id)]);
  const added = [...after.keys()].filter((id) => !expected.has(id));
  const changed = [...before].filter(([id, was]) => JSON.stringify(was) !== JSON.stringify(after.get(id)));
  const lost = rows.filter((row) =>
    Object.entries(row).some(([name, value]) => after.get(row.id)?.[name] !== value),
  );
  return [
    ...added.map((id) => `an invoice that nobody sent: ${id}`),
    ...changed.map(([id]) => `changed: ${id}: ${JSON.stringify(after.get(id))}`),
    ...lost.map(({ id }) => `not stored as it was sent: ${id}: ${JSON.stringify(after.get(id))}`),
  ];
}

/** Begins a chunked request and breaks its connection. */
export async function leave(
  address: string,
  { method, path, headers }: Pick<OddRequest, 'method' | 'path' | 'headers'>,
  afterMs: number,
): Promise<void> {
  const request = httpRequest(`${address}/api/${path}`, {
    method,
    agent: false,
    headers: { ...headers, 'transfer-encoding': 'chunked' },
  });
  request.on('error', () => {});
  request.flushHeaders();
  request.write('[');
  const [socket] = await once(request, 'socket');
  if (socket.connecting) await once(socket, 'connect');
  await delay(afterMs);
  request.destroy();
}

function send(
  address: string,
  { method, path, headers, body }: Omit<OddRequest, 'rows'>,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const bytes = body === undefined ? undefined : Buffer.from(body);
    const request = httpRequest(
      `${address}/api/${path}`,
      {
        method,
        agent,
        headers: { ...headers, ...(bytes === undefined ? {} : { 'content-length': bytes.length }) },
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
        });
        response.once('end', () => resolve({ status: response.statusCode ?? 0, text }));
        response.once('error', reject);
      },
    );
    request.once('error', reject);
    request.end(bytes);
  });
}
