/**
 * Removes the layers that protect money, one by one and from the outside: these wrap what a run and a consumer
 * are given, and the code under test does not know.
 */
import { randomUUID } from 'node:crypto';
import type { Container, OperationInput } from '@azure/cosmos';
import { type Locks, noLease } from '../../packages/leases/src/index.ts';
import type { PaymentProvider } from '../../src/paying/paymentProvider.ts';

/**
 * In the order they apply: who holds the group, who writes the claim, which key the provider has seen.
 */
export type Layer = 'lease' | 'claim' | 'key';

const anybody = { instance: 'anybody', job: 'test' };

/**
 * Without the lease: every attempt gets it. The fence belongs to this layer and goes with it: all holders have
 * the same token, and the store refuses only smaller ones. A token that still told them apart would be a lease by
 * another name.
 */
export const everybodyHolds: Locks = {
  tryAcquire: async (key, owner = anybody) => noLease(key, owner),
  acquire: async (key, owner = anybody) => noLease(key, owner),
};

/**
 * Without the claim: every write of a transaction is unconditional. Claim, start and settlement write only in
 * transactions. If claim or start ever wrote differently, the row of `test/layers.test.ts` without any layer
 * would show it.
 */
export function unconditional(container: Container): Container {
  return withBatch(
    container,
    (send) =>
      (operations, ...rest) =>
        send(operations.map(withoutConditions), ...rest),
  );
}

/** Without the idempotency key: no two calls share one. */
export function neverTheSameKey(provider: PaymentProvider): PaymentProvider {
  return {
    ...provider,
    charge: (request) =>
      provider.charge({ ...request, idempotencyKey: `${request.idempotencyKey}-${randomUUID()}` }),
  };
}

type SendBatch = Container['items']['batch'];

/** The same container with `around` wrapped around each of its transactions. */
export function withBatch(container: Container, around: (send: SendBatch) => SendBatch): Container {
  const batch = around(container.items.batch.bind(container.items));
  const items = Object.create(container.items, { batch: { value: batch } }) as Container['items'];
  return Object.create(container, { items: { value: items } }) as Container;
}

/** The operation as it is, if it is no patch. */
export function withoutConditions(operation: OperationInput): OperationInput {
  if (operation.operationType !== 'Patch') return operation;
  const { id, operationType, resourceBody } = operation;
  const operations = Array.isArray(resourceBody) ? resourceBody : resourceBody.operations;
  return { id, operationType, resourceBody: { operations } };
}
