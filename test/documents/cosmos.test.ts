import { describe } from 'vitest';
import { documentStoreContract } from '../../src/testing/documents/documentStoreContract.ts';
import { cosmosName, cosmosSubject } from '../support/cosmosSubject.ts';

describe(`documents in ${cosmosName}`, () => documentStoreContract(cosmosSubject()));
