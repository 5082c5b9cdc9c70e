import type { PaymentState } from './invoice.ts';

export const firstPaymentState: PaymentState = { keyNumber: 1, declines: 0, deferrals: 0 };

/** The state of a payment that may have gone through, unknown since `at` unless it has been so for longer. */
export function unknownSince<State extends PaymentState>(payment: State, at: string): State {
  return { ...payment, unknownSince: payment.unknownSince ?? at };
}

/** The state of a payment whose outcome under its key is known, or that is about to be followed by its id. */
export function known(payment: PaymentState): PaymentState {
  const { unknownSince: _, noneFoundAt: __, inProgress: ___, ...state } = payment;
  return state;
}

/**
 * The state in which the next charge is a new one, under the next key. A customer's default was that of this key: the next one
 * asks again. Fields of a newer release are kept.
 */
export function nextKey(payment: PaymentState, { declines }: { declines: number }): PaymentState {
  const { keyCreatedAt: _, paramsHash: __, method, ...state } = known(payment);
  const next = { ...state, keyNumber: payment.keyNumber + 1, declines, deferrals: 0 };
  return method?.from === 'retry' ? { ...next, method } : next;
}
