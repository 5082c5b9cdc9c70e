import { describe } from 'vitest';
import { memorySubject } from '../../../../test/support/memorySubject.ts';
import { outboxStoreContract } from '../../src/testing/outbox/outboxStoreContract.ts';

describe('outbox in memory', () => outboxStoreContract(memorySubject));
