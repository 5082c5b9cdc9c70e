import { bankDebits } from './bankDebits.ts';
import { cards } from './cards.ts';
import { localMethods } from './localMethods.ts';
import { invalid } from './refusal.ts';
import type { TestMethod } from './testMethod.ts';

/** All payment methods by name. */
const testMethods: Readonly<Record<string, TestMethod>> = { ...cards, ...bankDebits, ...localMethods };

export function testMethod(name: string): TestMethod | undefined {
  return Object.hasOwn(testMethods, name) ? testMethods[name] : undefined;
}

/** @throws {Refusal} if there is no such method */
export function methodNamed(name: string): TestMethod {
  const method = testMethod(name);
  if (method === undefined) {
    throw invalid('payment_method', `No such PaymentMethod: '${name}'`, 'resource_missing');
  }
  return method;
}
