import type { HeldBack, PaymentProvider } from './paymentProvider.ts';

/** Makes a call, or holds it back. */
export type Guard = <Answer extends { kind: string }>(
  call: () => Promise<Answer>,
) => Promise<Answer | HeldBack>;

/** The same provider, whose calls all go through a guard. */
export function guardedProvider(provider: PaymentProvider, guard: Guard): PaymentProvider {
  return {
    charge: (request) => guard(() => provider.charge(request)),
    find: (sought) => guard(() => provider.find(sought)),
    retrieve: (id, deployment) => guard(() => provider.retrieve(id, deployment)),
    cancel: (id) => guard(() => provider.cancel(id)),
    refund: (request) => guard(() => provider.refund(request)),
    defaultMethod: (customerId) => guard(() => provider.defaultMethod(customerId)),
  };
}
