import { inSpan } from '../platform/tracing.ts';
import type { WorkItem } from './workItem.ts';

/** The traceparent in a message, of one work item or of several. Undefined if there is none. */
export function traceparentOf(message: unknown): string | undefined {
  if (typeof message !== 'object' || message === null || !('traceparent' in message)) return undefined;
  return typeof message.traceparent === 'string' ? message.traceparent : undefined;
}

/** A work item that leaves the message that brought it, with the trace of that message, unless it has one itself. */
export function withTrace(item: unknown, traceparent: string | undefined): unknown {
  if (traceparent === undefined || typeof item !== 'object' || item === null) return item;
  return 'traceparent' in item ? item : { ...item, traceparent };
}

/** Does a work item in a span: of the trace that it carries, or of the active one. */
export function inItemSpan<T>(item: WorkItem, work: () => Promise<T>): Promise<T> {
  const attributes = { 'work_item.stage': item.stage, 'work_item.resource': item.resourceId };
  return inSpan(`work item ${item.stage}`, { attributes, parent: traceparentOf(item) }, work);
}

/** Does the work items of a message in a span of the trace that the message carries. */
export function inMessageSpan<T>(message: unknown, count: number, work: () => Promise<T>): Promise<T> {
  const start = { attributes: { 'work_item.count': count }, parent: traceparentOf(message) };
  return inSpan('process work items', start, work);
}
