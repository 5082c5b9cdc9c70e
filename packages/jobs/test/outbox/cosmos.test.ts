import { describe } from 'vitest';
import { cosmosName, cosmosSubject } from '../../../../test/support/cosmosSubject.ts';
import { outboxStoreContract } from '../../src/testing/outbox/outboxStoreContract.ts';

describe(`outbox in ${cosmosName}`, () => outboxStoreContract(cosmosSubject()));
