import { describe } from 'vitest';
import { memorySubject } from '../support/memorySubject.ts';
import { outboxStoreContract } from './outboxStoreContract.ts';

describe('outbox in memory', () => outboxStoreContract(memorySubject));
