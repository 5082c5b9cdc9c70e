import { days } from './days.ts';
import { children, type Form, integer, onlyKnown } from './form.ts';
import type { Moment } from './moment.ts';
import { type Page, pageSize } from './pages.ts';
import { invalid } from './refusal.ts';
import type { EventFilter, EventRow } from './store/events.ts';
import type { Store } from './store/index.ts';

const parameters = new Set(['limit', 'starting_after', 'ending_before', 'type']);
/** "We only guarantee access to events through the Retrieve Event API for 30 days" (https://docs.stripe.com/api/events). */
const keptMs = days(30);

export function findEvent(store: Store, id: string, { at }: Moment): object | undefined {
  prune(store, at);
  const row = store.events.get(id);
  return row === undefined ? undefined : shown(store, row);
}

/** A page of events, newest first (https://docs.stripe.com/api/events/list). @throws {Refusal} */
export function listEvents(store: Store, form: Form, { at }: Moment): Page {
  onlyKnown(form, parameters, ['types', 'created']);
  prune(store, at);
  const limit = pageSize(form);
  const before = form.get('ending_before');
  const after = form.get('starting_after');
  const filter: EventFilter = {
    ...createdRange(children(form, 'created')),
    above: before === undefined ? -1 : numberOf(store, 'ending_before', before),
    below: after === undefined ? Number.MAX_SAFE_INTEGER : numberOf(store, 'starting_after', after),
    types: typesOf(form),
  };
  // With `ending_before` the page is the one next to that event: the oldest of the newer ones.
  const rows = store.events.page(filter, before === undefined ? 'newest' : 'oldest', limit + 1);
  const page = rows.slice(0, limit);
  if (before !== undefined) page.reverse();
  return {
    object: 'list',
    url: '/v1/events',
    has_more: rows.length > limit,
    data: page.map((row) => shown(store, row)),
  };
}

function shown(store: Store, { number, json }: EventRow): object {
  return { ...(JSON.parse(json) as object), pending_webhooks: store.deliveries.has(number) ? 1 : 0 };
}

/** The text that is delivered to a webhook. */
export function eventText(store: Store, row: EventRow): string {
  return JSON.stringify(shown(store, row));
}

function prune(store: Store, at: number): void {
  store.events.prune(Math.floor((at - keptMs) / 1000));
}

function createdRange(bounds: Record<string, string>): Pick<EventFilter, 'from' | 'until'> {
  const read = (name: string) =>
    bounds[name] === undefined ? undefined : integer(`created[${name}]`, bounds[name]);
  const { gt, gte, lt, lte } = { gt: read('gt'), gte: read('gte'), lt: read('lt'), lte: read('lte') };
  return {
    from: Math.max(gte ?? 0, gt === undefined ? 0 : gt + 1),
    until: Math.min(lte ?? Number.MAX_SAFE_INTEGER, lt === undefined ? Number.MAX_SAFE_INTEGER : lt - 1),
  };
}

function typesOf(form: Form): readonly string[] | undefined {
  const types = Object.values(children(form, 'types'));
  const type = form.get('type');
  if (type !== undefined && types.length > 0) {
    throw invalid('types', 'You may only specify one of type, types.', 'parameters_exclusive');
  }
  if (type !== undefined) return [type];
  return types.length > 0 ? types : undefined;
}

function numberOf(store: Store, param: string, id: string): number {
  const row = store.events.get(id);
  if (row === undefined) throw invalid(param, `No such event: '${id}'`, 'resource_missing');
  return row.number;
}
