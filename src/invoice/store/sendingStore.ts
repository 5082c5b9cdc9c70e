import type { OutboxMessage } from '../../outbox/outboxMessage.ts';
import type { Sender } from '../../outbox/sender.ts';
import type { InvoiceStore } from './invoiceStore.ts';

/**
 * An invoice store that sends the messages which its writes store. Besides the sweeper nothing else does. A message for later is
 * the sweeper's. A claim waits for the order of its payments, and says if that could not be sent.
 */
export function sendingStore<Store extends Pick<InvoiceStore, 'claim' | 'settle' | 'update'>>(
  invoices: Store,
  sender: Pick<Sender, 'send' | 'sendWhenIdle'>,
): Store {
  return {
    ...invoices,

    async claim(request) {
      const claimed = await invoices.claim(request);
      const messages = toSendNow(claimed.written?.messages ?? []);
      const order = messages.find(({ id }) => id === request.batchId);
      for (const message of messages) if (message !== order) void sender.send(message);
      if (order === undefined) return claimed;
      const decision = await sender.send(order, request.assertHeld);
      return decision.kind === 'retry' ? { ...claimed, unsent: decision.error } : claimed;
    },

    async settle(request) {
      const settled = await invoices.settle(request);
      for (const message of toSendNow(settled.messages)) sender.sendWhenIdle(message);
      return settled;
    },

    async update(id, request) {
      const updated = await invoices.update(id, request);
      if (updated.kind === 'updated')
        for (const message of toSendNow(updated.messages)) void sender.send(message);
      return updated;
    },
  };
}

function toSendNow(messages: readonly OutboxMessage[]): readonly OutboxMessage[] {
  return messages.filter(({ notBefore }) => notBefore === undefined);
}
