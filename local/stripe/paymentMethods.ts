import { bankDebits } from './bankDebits.ts';
import { cards } from './cards.ts';
import { localMethods } from './localMethods.ts';
import { invalid, unsupported } from './refusal.ts';
import type { TestMethod } from './testMethod.ts';

/** All payment methods by name. */
const testMethods: Readonly<Record<string, TestMethod>> = { ...cards, ...bankDebits, ...localMethods };

/** Stripe's own for bank debits that this server lacks. */
const lacking = new Set(['pm_usBankAccount_failMicrodeposits', 'pm_usBankAccount_riskLevelHighest']);

export function testMethod(name: string): TestMethod | undefined {
  return Object.hasOwn(testMethods, name) ? testMethods[name] : undefined;
}

/**
 * @throws {Refusal} if there is no such method, or it was detached from its customer and cannot be used any more
 * (https://docs.stripe.com/api/payment_methods/detach)
 */
export function methodNamed(name: string): TestMethod {
  if (name.startsWith('pm_local_detached'))
    throw invalid(
      'payment_method',
      `PaymentMethod ${name} was detached from a Customer: it may not be used again.`,
    );
  const method = testMethod(name);
  if (lacking.has(name)) throw unsupported(`the payment method '${name}'`);
  if (method === undefined) {
    throw invalid('payment_method', `No such PaymentMethod: '${name}'`, 'resource_missing');
  }
  return method;
}
