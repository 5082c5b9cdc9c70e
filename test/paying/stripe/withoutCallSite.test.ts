import { expect, it } from 'vitest';
import { withoutCallSite } from '../../../src/paying/stripe/stripeClient.ts';

it('spares stack traces for the call only', () => {
  const limit = Error.stackTraceLimit;
  expect(withoutCallSite(() => new Error('inside').stack)).toBe('Error: inside');
  expect(Error.stackTraceLimit).toBe(limit);
  expect(new Error('after').stack).toContain('withoutCallSite.test.ts');
});

it('passes an error on', () => {
  const limit = Error.stackTraceLimit;
  const fail = () => {
    throw new Error('refused');
  };
  expect(() => withoutCallSite(fail)).toThrow('refused');
  expect(Error.stackTraceLimit).toBe(limit);
});
