import { randomUUID } from 'node:crypto';
import { type Container, CosmosClient, type Database } from '@azure/cosmos';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { cosmosDocuments } from '../../packages/jobs/src/documents/cosmosDocuments.ts';
import { cosmosOutboxStore } from '../../packages/jobs/src/outbox/cosmosOutboxStore.ts';
import type { LostAnswer } from '../../packages/jobs/src/testing/documents/subject.ts';
import { cosmosInvoiceStore } from '../../src/invoice/store/cosmosInvoiceStore.ts';
import { containers, databaseName, indexingPolicy } from '../../src/platform/cosmosContainers.ts';
import { withBatch } from './layerSwitches.ts';
import { deviates, official, officialAddresses } from './officialEmulators.ts';
import { type PayonceCosmos, payonceCosmos } from './payonceCosmos.ts';
import type { StoreSubject, Stores } from './storeSubject.ts';

/** Name of the Cosmos under test, in the titles of the contract suites. */
export const cosmosName = official ? 'the official Cosmos DB emulator' : 'the Cosmos stand-in';

/**
 * The stores in Cosmos: on a stand-in, or with PAYONCE_TEST_CLOUD=official on the emulator in compose.yaml. Call it once in
 * a test file: it starts and stops what it needs.
 */
export function cosmosSubject(): StoreSubject {
  const stack = new AsyncDisposableStack();
  let standIn: PayonceCosmos | undefined;
  let database: Database;

  beforeAll(async () => {
    if (official) {
      const client = new CosmosClient(officialAddresses().cosmos);
      stack.defer(() => client.dispose());
      database = client.database(databaseName);
    } else {
      standIn = stack.use(await payonceCosmos());
      database = standIn.containers.invoices.database;
    }
  });
  afterAll(() => stack.disposeAsync());

  return {
    canFail: !official,
    onEmulator: official,
    known: (deviation, body) => deviates(deviation, body),
    async open() {
      const { partitionKey, defaultTtl } = containers.invoices;
      const { container } = await database.containers.create({
        id: `contract-${randomUUID()}`,
        partitionKey: { paths: [partitionKey], version: 2 },
        indexingPolicy: indexingPolicy(containers.invoices),
        defaultTtl,
      });
      onTestFinished(async () => void (await container.delete()));
      let echoes = 0;
      let action: (() => Promise<unknown>) | undefined;
      const watched = withBatch(container, (send) => async (...args) => {
        const first = action;
        action = undefined;
        await first?.();
        const answer = await send(...args);
        return echoes-- > 0 ? send(...args) : answer;
      });
      const arm = async (kind: string, operation: string, count: number) => {
        if (standIn === undefined) throw new Error('the official emulator has no faults to arm');
        await standIn.fault({ kind, count, filter: { container: container.id, operation } });
      };
      return {
        ...storesIn(watched),
        async lose(answer, count = 1) {
          if (answer === 'echo') echoes = count;
          // A single patch is a request of its own kind.
          else for (const operation of ['batch', 'patch']) await arm(faultKind[answer], operation, count);
        },
        // The SDK repeats reads after other faults.
        failReads: (count = 1) => arm('408', 'query', count),
        interleave(next) {
          action = next;
        },
        denied: storesIn(deniedContainer(standIn, container)),
      };
    },
  };
}

const faultKind: Record<Exclude<LostAnswer, 'echo'>, string> = { before: '503', after: 'reset-after' };

function deniedContainer(standIn: PayonceCosmos | undefined, container: Container): Container {
  return standIn?.denied.invoices.database.container(container.id) ?? container;
}

function storesIn(container: Container): Stores {
  return {
    documents: cosmosDocuments(container),
    invoices: (options) => cosmosInvoiceStore(container, options),
    outbox: (options) => cosmosOutboxStore(container, options),
  };
}
