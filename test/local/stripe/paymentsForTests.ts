import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import Stripe from 'stripe';
import { afterAll, onTestFinished } from 'vitest';
import {
  type Charge,
  type Payments,
  type PaymentsOptions,
  startPayments,
} from '../../../local/stripe/index.ts';
import { virtualClock } from '../../support/virtualClock.ts';

/** A stand-in for one test file, on a virtual clock. Stops after the file's last test. */
export async function paymentsForFile(options: Omit<PaymentsOptions, 'clock'> = {}) {
  const clock = virtualClock(Date.parse('2026-01-31T12:00:00Z'));
  const payments = await startPayments({ ...options, clock });
  afterAll(() => payments.stop());
  return { payments, clock, stripe: clientOf(payments) };
}

/** The stand-in as a program of its own, which does not outlive the test. */
export async function startProgram(...args: string[]) {
  const child = spawn(process.execPath, ['--', 'local/stripe/main.ts', ...args]);
  const exited = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const settings: Record<string, string> = {};
  for await (const line of createInterface(child.stdout)) {
    if (line === 'ready') break;
    const [name = '', value = ''] = line.split('=');
    settings[name] = value;
  }
  const { STRIPE_API_BASE: baseUrl = '', STRIPE_SECRET_KEY: secretKey = '' } = settings;
  const stripe = clientOf({ port: Number(new URL(baseUrl).port), secretKey });
  return { child, exited, baseUrl, stripe };
}

/** The real client, without retries. */
export function clientOf({ port, secretKey }: Pick<Payments, 'port' | 'secretKey'>, key = secretKey): Stripe {
  return new Stripe(key, {
    host: '127.0.0.1',
    port,
    protocol: 'http',
    maxNetworkRetries: 0,
    telemetry: false,
  });
}

export interface ChargeParameters extends Partial<Stripe.PaymentIntentCreateParams> {
  invoiceId: string;
}

/** Parameters of a charge that succeeds, unless `rest` changes that. */
export function charge({ invoiceId, ...rest }: ChargeParameters): Stripe.PaymentIntentCreateParams {
  return {
    amount: 1999,
    currency: 'usd',
    customer: 'cus_1',
    payment_method: 'pm_card_visa',
    allowed_payment_method_types: ['card'],
    off_session: true,
    confirm: true,
    metadata: { invoiceId },
    ...rest,
  };
}

/** The error that a call was refused with. */
export async function refusalOf(call: Promise<unknown>): Promise<Stripe.errors.StripeError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof Stripe.errors.StripeError) return error;
    throw error;
  }
  throw new Error('expected the call to be refused');
}

/** The id of an intent's last charge. */
export function chargeIdOf({ latest_charge: charge }: Pick<Stripe.PaymentIntent, 'latest_charge'>): string {
  if (typeof charge !== 'string') throw new Error('expected an intent with a charge, not expanded');
  return charge;
}

/** The ledger rows of one invoice. */
export async function chargesOf(
  { baseUrl }: Pick<Payments, 'baseUrl'>,
  invoiceId: string,
): Promise<Charge[]> {
  const ledger = (await (await fetch(`${baseUrl}/_local/charges`)).json()) as Charge[];
  return ledger.filter((each) => each.invoiceId === invoiceId);
}

export async function armFault({ baseUrl }: Pick<Payments, 'baseUrl'>, fault: object): Promise<Response> {
  return fetch(`${baseUrl}/_local/faults`, { method: 'POST', body: JSON.stringify(fault) });
}

let invoices = 0;

/** An id that no other test in the file uses. */
export function newInvoiceId(): string {
  invoices += 1;
  return `INV-${invoices}`;
}
