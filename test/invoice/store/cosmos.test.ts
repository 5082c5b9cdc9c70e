import { describe } from 'vitest';
import { cosmosName, cosmosSubject } from '../../support/cosmosSubject.ts';
import { invoiceStoreContract } from './invoiceStoreContract.ts';

describe(`invoices in ${cosmosName}`, () => invoiceStoreContract(cosmosSubject()));
