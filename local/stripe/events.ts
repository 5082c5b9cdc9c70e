import { newId } from './ids.ts';
import { epochSeconds, type Moment } from './moment.ts';
import type { Store } from './store/index.ts';

/** The version that events are written in: that of the `stripe` package whose shapes this server follows. */
const apiVersion = '2026-10-28.endive';

/**
 * Types of the events that this server records, in Stripe's names (https://docs.stripe.com/api/events/types).
 */
export type EventType =
  | `payment_intent.${'canceled' | 'created' | 'payment_failed' | 'processing' | 'requires_action' | 'succeeded'}`
  | `charge.${'failed' | 'pending' | 'refunded' | 'succeeded'}`
  | `refund.${'created' | 'failed' | 'updated'}`
  | `charge.dispute.${'closed' | 'created' | 'funds_reinstated' | 'funds_withdrawn' | 'updated'}`;

/** Records an event: a snapshot of the object as it is now. Call inside the transaction of the change. */
export type RecordEvent = (type: EventType, object: object, moment: Moment) => void;

/** `delivers`: whether events are sent to a webhook. */
export function createRecordEvent(store: Store, delivers: () => boolean): RecordEvent {
  return (type, object, moment) => {
    const id = newId('evt');
    const created = epochSeconds(moment);
    const json = JSON.stringify({
      id,
      object: 'event',
      api_version: apiVersion,
      created,
      data: { object },
      livemode: false,
      request: { id: moment.requestId, idempotency_key: moment.idempotencyKey },
      type,
    });
    const number = store.events.add(id, type, created, json);
    if (delivers()) store.deliveries.put({ number, at: moment.at, failures: 0 });
  };
}
