import { describe } from 'vitest';
import { cosmosName, cosmosSubject } from '../support/cosmosSubject.ts';
import { documentStoreContract } from './documentStoreContract.ts';

describe(`documents in ${cosmosName}`, () => documentStoreContract(cosmosSubject()));
