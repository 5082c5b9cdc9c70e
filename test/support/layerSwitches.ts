/**
 * Takes the layers that protect money away, one by one and from the outside: what is wrapped here is what a
 * run and a consumer are given, and the code under test does not know.
 */
import { randomUUID } from 'node:crypto';
import type { Container, OperationInput } from '@azure/cosmos';
import { type Locks, noLease } from '../../src/locking/index.ts';
import type { PaymentProvider } from '../../src/paying/paymentProvider.ts';

/**
 * In the order in which they are met: who holds the group, who writes the claim, whom the provider has seen.
 */
export type Layer = 'lease' | 'claim' | 'key';

/**
 * Without the lease: everybody gets it, always. The fence belongs to this layer and goes with it: all have
 * the same token, and the store refuses smaller ones only. A token that still told them apart would be a
 * lease by another name.
 */
export const everybodyHolds: Locks = {
  tryAcquire: async (key, owner) => noLease(key, owner),
  acquire: async (key, owner) => noLease(key, owner),
};

/**
 * Without the claim: every write of a transaction is unconditional. Claim, start and settlement write in no
 * other way; if claim or start ever did, the row of `test/layers.test.ts` without any layer would show it.
 */
export function unconditional(container: Container): Container {
  return withBatch(
    container,
    (send) =>
      (operations, ...rest) =>
        send(operations.map(withoutConditions), ...rest),
  );
}

/** Without the idempotency key: no two calls have the same. */
export function neverTheSameKey(provider: PaymentProvider): PaymentProvider {
  return {
    charge: (request) =>
      provider.charge({ ...request, idempotencyKey: `${request.idempotencyKey}-${randomUUID()}` }),
    find: (sought) => provider.find(sought),
  };
}

type SendBatch = Container['items']['batch'];

/** The same container, with something around each of its transactions. */
export function withBatch(container: Container, around: (send: SendBatch) => SendBatch): Container {
  const batch = around(container.items.batch.bind(container.items));
  const items = Object.create(container.items, { batch: { value: batch } }) as Container['items'];
  return Object.create(container, { items: { value: items } }) as Container;
}

function withoutConditions(operation: OperationInput): OperationInput {
  if (operation.operationType !== 'Patch') return operation;
  const { id, operationType, resourceBody } = operation;
  const operations = Array.isArray(resourceBody) ? resourceBody : resourceBody.operations;
  return { id, operationType, resourceBody: { operations } };
}
