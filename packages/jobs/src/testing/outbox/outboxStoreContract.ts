import { dueContract } from './dueContract.ts';
import { listContract } from './listContract.ts';
import { markContract } from './markContract.ts';
import { redriveContract } from './redriveContract.ts';
import type { OutboxSubject } from './world.ts';

/** Declares the tests that each outbox store must pass. Call it within a `describe` of Vitest. */
export function outboxStoreContract(subject: OutboxSubject): void {
  dueContract(subject);
  markContract(subject);
  listContract(subject);
  redriveContract(subject);
}
