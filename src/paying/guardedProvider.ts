import type { HeldBack, PaymentProvider } from './paymentProvider.ts';

/** Makes a call, or holds it back. */
export type Guard = <Answer extends { kind: string }>(
  call: () => Promise<Answer>,
) => Promise<Answer | HeldBack>;

/** The same provider, whose calls all go through a guard: those that every provider has, and those that this one offers. */
export function guardedProvider(provider: PaymentProvider, guard: Guard): PaymentProvider {
  const retrieve = provider.retrieve?.bind(provider);
  const cancel = provider.cancel?.bind(provider);
  const refund = provider.refund?.bind(provider);
  const defaultMethod = provider.defaultMethod?.bind(provider);
  return {
    charge: (request) => guard(() => provider.charge(request)),
    find: (sought) => guard(() => provider.find(sought)),
    ...(retrieve && {
      retrieve: (id: string, deployment?: string) => guard(() => retrieve(id, deployment)),
    }),
    ...(cancel && { cancel: (id: string) => guard(() => cancel(id)) }),
    ...(refund && { refund: (request: Parameters<typeof refund>[0]) => guard(() => refund(request)) }),
    ...(defaultMethod && { defaultMethod: (id: string) => guard(() => defaultMethod(id)) }),
  };
}
