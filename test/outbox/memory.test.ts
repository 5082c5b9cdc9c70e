import { describe } from 'vitest';
import { outboxStoreContract } from '../../src/testing/outbox/outboxStoreContract.ts';
import { memorySubject } from '../support/memorySubject.ts';

describe('outbox in memory', () => outboxStoreContract(memorySubject));
