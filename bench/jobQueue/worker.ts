/**
 * A worker of pg-boss that pays invoices with Stripe's package, each under a key made from the invoice, as somebody would write it
 * after reading the documentation of both. The packages' own time-outs and retries apply.
 */
import { Client } from 'pg';
import { type Job, type JobResult, PgBoss } from 'pg-boss';
import Stripe from 'stripe';
import { z } from 'zod';

const { databaseUrl, apiBase, secretKey } = z
  .tuple([z.url(), z.url(), z.string()])
  .transform(([database, base, key]) => ({ databaseUrl: database, apiBase: new URL(base), secretKey: key }))
  .parse(process.argv.slice(2));

const stripe = new Stripe(secretKey, {
  protocol: 'http',
  host: apiBase.hostname,
  port: Number(apiBase.port),
  telemetry: false,
});
const database = new Client(databaseUrl);
await database.connect();
const boss = new PgBoss(databaseUrl);
boss.on('error', console.error);
await boss.start();
const options = { batchSize: 100, burstWhenBatchFull: true, perJobResults: true } as const;
await boss.work('payments', options, (jobs: Job<{ invoiceId: string }>[]) => Promise.all(jobs.map(pay)));
console.log('ready');

async function pay({ id, data: { invoiceId } }: Job<{ invoiceId: string }>): Promise<JobResult> {
  try {
    const intent = await stripe.paymentIntents.create(
      {
        amount: 1_000,
        currency: 'usd',
        customer: 'cus-1',
        payment_method: 'pm_card_visa',
        confirm: true,
        automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
        off_session: true,
        metadata: { invoiceId },
      },
      { idempotencyKey: `invoice-${invoiceId}` },
    );
    await database.query('update invoices set payment = $2 where id = $1', [invoiceId, intent.id]);
    return { id, status: 'completed' };
  } catch (error) {
    return { id, status: 'failed', output: String(error) };
  }
}
