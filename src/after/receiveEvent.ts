import type { Instance } from '@payonce/jobs/instance';
import type { Effects, WorkItem } from '@payonce/jobs/work-items';
import { errorText } from '@payonce/leases/error-text';
import type { ReadSignedEvent } from '../paying/paymentProvider.ts';
import { metric } from '../platform/appMetrics.ts';
import { problem, problemResponse } from '../platform/problem.ts';
import { type RequestBody, wholeBody } from '../platform/wholeBody.ts';
import { stripeSignedEvents } from '../stripe/stripeEvents.ts';
import { eventItem } from './eventStage.ts';
import { createReadEventList, type EventListParts } from './readEventList.ts';

/** Takes events in: by webhook if there are `webhookSecrets`, and from the provider's list. */
export function eventIntake({
  webhookSecrets,
  effects,
  ...parts
}: Omit<EventListParts, 'isDone'> & {
  webhookSecrets: readonly string[];
  effects: Pick<Effects, 'has'>;
}) {
  const { send, instance } = parts;
  const isDelivered = webhookSecrets.length > 0;
  const signed = isDelivered && { read: stripeSignedEvents(webhookSecrets, () => instance.clock.now()) };
  const receive = createReceiveEvent({ ...signed, send, instance });
  const isDone = (item: WorkItem) => effects.has(item);
  return { receive, readList: createReadEventList(isDelivered ? { ...parts, isDone } : parts) };
}

export type EventRequest = RequestBody;

export interface EventResponse {
  status: number;
  headers?: Record<string, string>;
  body?: string;
  jsonBody?: unknown;
}

/** The largest body that is looked at, in bytes: anyone can send something, and Stripe's events are smaller than 256 KB. */
export const mostEventBytes = 262_144;

/**
 * Creates the call that stores events of the provider, which sends again what is not stored.
 *
 * 200 stored, or of no use here. 400 not signed, or not an event. 404 no secret is configured. 413 too large. 503 not stored.
 */
export function createReceiveEvent({
  read,
  send,
  instance: { telemetry, log },
}: {
  /** Absent: no secret is configured. */
  read?: ReadSignedEvent;
  send: (text: string) => Promise<void>;
  instance: Pick<Instance, 'telemetry' | 'log'>;
}): (request: EventRequest) => Promise<EventResponse> {
  return async (request) => {
    if (read === undefined) return refuse(404, 'no secret of the payment provider is configured');
    const body = await wholeBody(request, mostEventBytes);
    if (body === undefined) {
      count('tooLarge');
      return refuse(413, `expected a body of at most ${mostEventBytes} bytes`);
    }
    const found = read(body, request.headers.get('stripe-signature'));
    switch (found.kind) {
      case 'forged':
        count('rejected');
        return refuse(
          400,
          'expected the header Stripe-Signature, by a current secret, of the last five minutes',
        );
      case 'malformed':
        count('malformed');
        return refuse(400, 'expected an event of the payment provider');
      case 'irrelevant':
        count('irrelevant');
        return { status: 200, jsonBody: { result: 'irrelevant' } };
      case 'event':
        return store(JSON.stringify(eventItem(found.event)));
    }
  };

  async function store(text: string): Promise<EventResponse> {
    try {
      await send(text);
    } catch (error) {
      count('notStored');
      log(`an event of the payment provider could not be stored: ${errorText(error)}`);
      return refuse(503, 'the event could not be stored: send it again');
    }
    count('stored');
    return { status: 200, jsonBody: { result: 'stored' } };
  }

  function count(outcome: string): void {
    telemetry.count(metric.paymentEvent, { outcome });
  }
}

function refuse(status: number, detail: string): EventResponse {
  return problemResponse(problem(status, detail));
}
