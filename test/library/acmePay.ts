import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';

/** What Acme Pay does with the next charge: answers, or charges and answers nothing, or something else by its status. */
export type Mood = 'normal' | 'silent' | 'nonsense' | number;

const order = z.object({ invoice: z.string(), amount: z.int(), currency: z.string(), method: z.string() });
type Payment = z.infer<typeof order> & { id: string; state: string };

/** The payment provider of the guide: in memory, with its ledger open to tests. */
export async function startAcmePay() {
  const byKey = new Map<string, Payment>();
  const acme = {
    url: '',
    mood: 'normal' as Mood,
    /** What moved money. */
    paid: () => [...byKey.values()].filter(({ state }) => state === 'paid'),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const server = createServer((request, response) => void take(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  acme.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return acme;

  async function take(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://acme');
    const answer = (status: number, body: unknown) => response.writeHead(status).end(JSON.stringify(body));
    const text = Buffer.concat(await request.toArray()).toString();
    if (request.headers.authorization !== 'Bearer acme-key') return answer(401, 'unknown key');
    if (typeof acme.mood === 'number') return answer(acme.mood, 'not now');
    if (pathname !== '/payments') return answer(404, 'no such path');
    if (request.method === 'GET') {
      return answer(
        200,
        acme.paid().filter(({ invoice }) => invoice === searchParams.get('invoice')),
      );
    }
    const key = String(request.headers['idempotency-key']);
    const wanted = order.parse(JSON.parse(text));
    const known = byKey.get(key);
    if (known !== undefined && known.amount !== wanted.amount) return answer(409, 'another amount before');
    const state = ['declined', 'blocked'].find((one) => wanted.method.includes(one)) ?? 'paid';
    const payment = known ?? { ...wanted, id: `pay-${byKey.size + 1}`, state };
    byKey.set(key, payment);
    if (acme.mood === 'nonsense') return response.end('<html>');
    return acme.mood === 'normal' ? answer(200, payment) : undefined;
  }
}
