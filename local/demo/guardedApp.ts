/**
 * The app as src/payonce.ts puts it together, with a switch around each port that protects money, and with a line of output for
 * each message, call and answer. Only preload.ts loads it.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Container, OperationInput } from '@azure/cosmos';
import { unreadableReport } from '../../packages/jobs/src/documents/index.ts';
import { blobLockStore } from '../../packages/leases/src/blobLockStore.ts';
import type { LockStore } from '../../packages/leases/src/lockStore.ts';
import { createApp } from '../../src/app.ts';
import { azureCloud } from '../../src/cloud.ts';
import { cosmosInvoiceStore } from '../../src/invoice/store/cosmosInvoiceStore.ts';
import { deliverySchema } from '../../src/paying/executePayments.ts';
import { paymentBatchSchema } from '../../src/paying/paymentBatch.ts';
import { azureClients } from '../../src/platform/azureClients.ts';
import { readSettings } from '../../src/settings/readSettings.ts';
import { stripeProvider } from '../../src/stripe/stripeProvider.ts';
import { withBatch, withoutConditions } from '../../test/support/layerSwitches.ts';
import { printStep } from './step.ts';
import { type MoneyGuard, hasOwnKey, readSwitches, switchFileSetting } from './switchFile.ts';

const file = process.env[switchFileSetting] ?? '';
const isOff = (guard: MoneyGuard) => readSwitches(file).off.includes(guard);

const settings = readSettings(process.env);
const provider = stripeProvider({
  ...settings.stripe,
  timeoutMs: settings.paymentTimeoutSeconds * 1000,
});

/** For each invoice of the message that is being worked on: when its key was first claimed. */
const claimedAt = new AsyncLocalStorage<ReadonlyMap<string, string>>();

const app = createApp(settings, {
  provider: {
    ...provider,
    async charge(request) {
      const at = claimedAt.getStore()?.get(request.invoiceId) ?? '';
      const own = hasOwnKey(readSwitches(file), at) ? `-${at}` : '';
      const idempotencyKey = `${request.idempotencyKey}${own}`;
      printStep({ kind: 'call', invoice: request.invoiceId, key: idempotencyKey });
      const outcome = await provider.charge({ ...request, idempotencyKey });
      printStep({ kind: 'answer', invoice: request.invoiceId, outcome: outcome.kind });
      return outcome;
    },
  },
  cloud(instance) {
    const cloud = azureCloud(settings, instance, ({ blobs }) => withLeaseSwitch(blobLockStore(blobs)));
    const clients = azureClients(settings);
    const { clock } = instance;
    const options = { clock, shards: settings.shards, onUnreadable: unreadableReport(instance) };
    return {
      ...cloud,
      invoices: cosmosInvoiceStore(withClaimSwitch(clients.containers.invoices), options),
      async close() {
        await cloud.close();
        await clients.close();
      },
    };
  },
});

export const payonce = {
  ...app,
  executePayments(message: unknown, delivery: unknown = {}) {
    const commands = paymentBatchSchema.safeParse(message).data?.commands ?? [];
    const invoices = commands.map(({ invoiceId }) => invoiceId);
    printStep({ kind: 'message', invoices, delivery: deliverySchema.parse(delivery).deliveryCount });
    const dates = new Map(commands.map(({ invoiceId, payment }) => [invoiceId, payment.keyCreatedAt]));
    return claimedAt.run(dates, () => app.executePayments(message, delivery));
  },
};

export const stopPayonce = () => app.stop();

/** While the lease is off, everybody who asks has it. */
function withLeaseSwitch(store: LockStore): LockStore {
  const unless = <T>(answer: T, ask: () => Promise<T>) => (isOff('lease') ? Promise.resolve(answer) : ask());
  return {
    ...store,
    async look(key, signal) {
      const view = await store.look(key, signal);
      return view !== undefined && isOff('lease') ? { ...view, held: false } : view;
    },
    acquire: (...asked) => unless('acquired', () => store.acquire(...asked)),
    raise: (...asked) => unless('raised', () => store.raise(...asked)),
    renew: (...asked) => unless('renewed', () => store.renew(...asked)),
    release: (...asked) => unless('released', () => store.release(...asked)),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

/** The fence belongs to the lease, every other condition to the claim. */
function withClaimSwitch(container: Container): Container {
  const isFence = (operation: OperationInput) => 'id' in operation && operation.id?.includes('fence');
  return withBatch(container, (send) => (operations, ...rest) => {
    const [lease, claim] = [isOff('lease'), isOff('claim')];
    const sent = operations.map((one) => ((isFence(one) ? lease : claim) ? withoutConditions(one) : one));
    return send(sent, ...rest);
  });
}
