/** Names that the app uses in storage and Service Bus. infra/ and the local cloud create the same ones. */
export const blobContainers = {
  locks: 'locks',
  receipts: 'receipts',
  imports: 'imports',
  archive: 'archive',
  changes: 'changes',
} as const;
export const queues = { workItems: 'work-items', workItemsPoison: 'work-items-poison' } as const;
/** The schedules in the container `pace`. */
export const paceLimits = { charges: 'charges', lookups: 'lookups' } as const;
/** `locks` never has a message: each lock is a session. */
export const serviceBusQueues = { paymentCommands: 'payment-commands', locks: 'locks' } as const;
/** Jobs that have runs. */
export const jobNames = { payments: 'process-invoices', bulk: 'bulk' } as const;
