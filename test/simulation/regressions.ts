/** Seeds that once found a fault, of the app or of the simulation, which has been fixed since. */
export const regressions: readonly { seed: number; found: string }[] = [
  {
    seed: 69,
    found: 'put-off messages multiply while Queue Storage loses answers',
  },
  {
    seed: 215,
    found: 'a process that was frozen takes the only copy of a put-off message for a second one',
  },
  {
    seed: 222,
    found: 'messages of a newer release multiply while Service Bus loses answers',
  },
  {
    seed: 5135,
    found:
      'a message of a newer release is a dead letter, comes back after that release has left, and is put off for ever',
  },
  {
    seed: 5502,
    found: 'a delivery that could not ask for the payment method removes the one another has called with',
  },
];
