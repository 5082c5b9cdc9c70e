import { describe } from 'vitest';
import { memorySubject } from '../../support/memorySubject.ts';
import { invoiceStoreContract } from './invoiceStoreContract.ts';

describe('invoices in memory', () => invoiceStoreContract(memorySubject));
