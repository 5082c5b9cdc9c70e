/** Seeds that once found a fault of the app, which has been fixed since. */
export const regressions: readonly { seed: number; found: string }[] = [
  {
    seed: 222,
    found: 'messages of a newer release multiply while Service Bus loses answers',
  },
  {
    seed: 5502,
    found: 'a delivery that could not ask for the payment method removes the one another has called with',
  },
];
