import { children, type Form } from './form.ts';
import { invalid, unsupported } from './refusal.ts';

export const methodTypes = ['card', 'sepa_debit', 'us_bank_account', 'bacs_debit'] as const;
export type MethodType = (typeof methodTypes)[number];

/**
 * The one currency of each bank debit: https://docs.stripe.com/payments/sepa-debit,
 * https://docs.stripe.com/payments/ach-direct-debit and https://docs.stripe.com/payments/payment-methods/bacs-debit.
 */
const onlyCurrency: Partial<Record<MethodType, string>> = {
  sepa_debit: 'eur',
  us_bank_account: 'usd',
  bacs_debit: 'gbp',
};

/** The types that the caller allows, as sent. Undefined if the caller leaves the choice to Stripe. */
export function allowedTypes(form: Form): string[] | undefined {
  const allowed = Object.values(children(form, 'allowed_payment_method_types'));
  return allowed.length === 0 ? undefined : allowed;
}

/**
 * The intent's `payment_method_types`: of the allowed types, those that the currency permits
 * (https://docs.stripe.com/api/payment_intents/create#create_payment_intent-allowed_payment_method_types).
 *
 * @throws {Refusal} if none is left, in the words of Stripe's answer, which has no code
 */
export function compatibleTypes(allowed: readonly string[] | undefined, currency: string): MethodType[] {
  const known = methodTypes.filter((type) => allowed === undefined || allowed.includes(type));
  if (known.length === 0) throw unsupported(`payment methods other than ${methodTypes.join(', ')}`);
  const compatible = known.filter((type) => (onlyCurrency[type] ?? currency) === currency);
  const [first] = known;
  if (compatible.length > 0 || first === undefined) return compatible;
  throw invalid(
    'currency',
    `The currency provided (${currency}) is invalid. Payments with ${first} support the following currencies: ` +
      `${onlyCurrency[first]}.`,
  );
}

/**
 * @throws {Refusal} in the words of Stripe's answer (https://github.com/stripe/stripe-terminal-react-native/issues/745),
 * which has no code
 */
export function checkTypeAllowed(type: MethodType, types: readonly string[]): void {
  if (types.includes(type)) return;
  throw invalid(
    undefined,
    `The PaymentMethod provided (${type}) is not allowed for this PaymentIntent. Please attach a PaymentMethod of ` +
      `one of the following types: ${types.join(', ')}. Alternatively, update the allowed payment_method_types for ` +
      `this PaymentIntent to include "${type}"`,
  );
}
