import { randomUUID } from 'node:crypto';
import type { AppFunction } from './appFunctions.ts';
import type { TriggerInput } from './invoker.ts';
import { queueTriggerMetadata } from './queue/queueMessage.ts';
import { timerData } from './timer/timerTrigger.ts';

/**
 * Builds the trigger input of a manual run (`POST /admin/functions/{name}`): `input` as the message or body,
 * with the metadata of a message that was never queued. Undefined for Durable Functions, which only their
 * task hub can run, and for blobs, which have to exist.
 */
export function manualInput({ name, trigger }: AppFunction, input: string): TriggerInput | undefined {
  switch (trigger.type) {
    case 'http':
      return {
        data: {
          http: {
            method: trigger.methods.includes('POST') ? 'POST' : (trigger.methods[0] ?? 'POST'),
            url: `http://localhost/admin/functions/${encodeURIComponent(name)}`,
            headers: { 'content-type': 'application/json' },
            params: {},
            query: {},
            body: { bytes: Buffer.from(input) },
          },
        },
      };
    case 'timer':
      return { data: timerData(null, false) };
    case 'queue': {
      const now = new Date();
      const expiresOn = new Date(now.getTime() + 7 * 24 * 3_600_000);
      const message = { messageId: randomUUID(), popReceipt: '', messageText: input, dequeueCount: 0 };
      return {
        data: { string: input },
        triggerMetadata: queueTriggerMetadata(
          { ...message, insertedOn: now, expiresOn, nextVisibleOn: now },
          Buffer.from(input),
        ),
      };
    }
    case 'serviceBus':
      return {
        data: { string: input },
        triggerMetadata: {
          DeliveryCount: { int: 0 },
          MessageId: { string: randomUUID() },
          EnqueuedTimeUtc: { json: JSON.stringify(new Date()) },
          ApplicationProperties: { json: '{}' },
          UserProperties: { json: '{}' },
        },
      };
    case 'cosmos':
      return { data: { json: input } };
    case 'blob':
    case 'durable':
      return undefined;
  }
}

const triggerTypes = {
  http: 'httpTrigger',
  timer: 'timerTrigger',
  queue: 'queueTrigger',
  blob: 'blobTrigger',
  serviceBus: 'serviceBusTrigger',
  cosmos: 'cosmosDBTrigger',
} as const;

/** A function as `GET /admin/functions` lists it: the members that do not depend on files of the host. */
export function describeFunction({ name, trigger, triggerName }: AppFunction): Record<string, unknown> {
  const type = trigger.type === 'durable' ? `${trigger.kind}Trigger` : triggerTypes[trigger.type];
  return {
    name,
    language: 'node',
    isDisabled: false,
    config: { name, bindings: [{ name: triggerName, type, direction: 'in' }] },
  };
}
