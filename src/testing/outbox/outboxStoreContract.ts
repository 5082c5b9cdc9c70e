import { dueContract } from './dueContract.ts';
import { listContract } from './listContract.ts';
import { markContract } from './markContract.ts';
import { redriveContract } from './redriveContract.ts';
import type { OutboxSubject } from './world.ts';

/** How an outbox store behaves. Each store must pass it: call it within a `describe` of Vitest. */
export function outboxStoreContract(subject: OutboxSubject): void {
  dueContract(subject);
  markContract(subject);
  listContract(subject);
  redriveContract(subject);
}
