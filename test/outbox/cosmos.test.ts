import { describe } from 'vitest';
import { cosmosName, cosmosSubject } from '../support/cosmosSubject.ts';
import { outboxStoreContract } from './outboxStoreContract.ts';

describe(`outbox in ${cosmosName}`, () => outboxStoreContract(cosmosSubject()));
