import type { StoreSubject } from '../../support/storeSubject.ts';
import { addContract } from './contract/add.ts';
import { claimContract } from './contract/claim.ts';
import { dueContract } from './contract/due.ts';
import { giveBackContract } from './contract/giveBack.ts';
import { newerFieldsContract } from './contract/newerFields.ts';
import { readsContract } from './contract/reads.ts';
import { settleContract } from './contract/settle.ts';
import { startContract } from './contract/start.ts';
import { updateContract } from './contract/update.ts';
import { invoiceContract } from './contract/world.ts';

/** Tests the behaviour of an invoice store. Each store must pass it. */
export function invoiceStoreContract(subject: StoreSubject): void {
  const contract = invoiceContract(subject);
  dueContract(contract);
  claimContract(contract);
  startContract(contract);
  giveBackContract(contract);
  settleContract(contract);
  updateContract(contract);
  addContract(contract);
  readsContract(contract);
  newerFieldsContract(contract);
}
