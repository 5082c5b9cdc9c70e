import { describe } from 'vitest';
import { cosmosName, cosmosSubject } from '../../../../test/support/cosmosSubject.ts';
import { documentStoreContract } from '../../src/testing/documents/documentStoreContract.ts';

describe(`documents in ${cosmosName}`, () => documentStoreContract(cosmosSubject()));
