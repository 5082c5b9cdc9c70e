import type { HeldBack, PaymentProvider } from './paymentProvider.ts';

/** Makes a call, or holds it back. */
export type Guard = <Answer extends { kind: string }>(
  call: () => Promise<Answer>,
) => Promise<Answer | HeldBack>;

/** The same provider, whose calls all go through a guard: those that every provider has, and those that this one offers. */
export function guardedProvider(provider: PaymentProvider, guard: Guard): PaymentProvider {
  const { retrieve, cancel, refund, defaultMethod } = provider;
  return {
    charge: (request) => guard(() => provider.charge(request)),
    find: (sought) => guard(() => provider.find(sought)),
    ...(retrieve && { retrieve: (id: string) => guard(() => retrieve.call(provider, id)) }),
    ...(cancel && { cancel: (id: string) => guard(() => cancel.call(provider, id)) }),
    ...(refund && {
      refund: (request: Parameters<typeof refund>[0]) => guard(() => refund.call(provider, request)),
    }),
    ...(defaultMethod && { defaultMethod: (id: string) => guard(() => defaultMethod.call(provider, id)) }),
  };
}
