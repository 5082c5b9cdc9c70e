import { describe } from 'vitest';
import { outboxStoreContract } from '../../src/testing/outbox/outboxStoreContract.ts';
import { cosmosName, cosmosSubject } from '../support/cosmosSubject.ts';

describe(`outbox in ${cosmosName}`, () => outboxStoreContract(cosmosSubject()));
