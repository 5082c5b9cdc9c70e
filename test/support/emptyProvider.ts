import type { PaymentProvider } from '../../src/paying/paymentProvider.ts';

/** A provider that no payment was ever made at, and that makes none. */
export const emptyProvider: PaymentProvider = {
  charge: async () => ({ kind: 'transient', code: 'none', message: 'this provider charges nothing' }),
  find: async () => ({ kind: 'notFound' }),
  retrieve: async () => ({ kind: 'notFound' }),
  cancel: async () => ({ kind: 'refused', message: 'there is no such payment' }),
  refund: async () => ({ kind: 'unknown', message: 'there is no such payment' }),
  defaultMethod: async () => ({ kind: 'unknown', message: 'there is no such customer' }),
};
