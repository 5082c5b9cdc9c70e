import type { ReceivedSpan } from './otlp.ts';

/** The traces in which something was done for an invoice, the oldest first. Pure. */
export function tracesAbout(spans: readonly ReceivedSpan[], invoiceId: string): string[] {
  return [...new Set(spans.filter((span) => isAbout(span, invoiceId)).map(({ traceId }) => traceId))];
}

/**
 * One trace as an indented text, a line for each span: when it began, how long it took, in which process. With `invoiceId`,
 * spans of other invoices are left out. Pure.
 */
export function traceTree(spans: readonly ReceivedSpan[], traceId: string, invoiceId?: string): string {
  const all = spans.filter((span) => span.traceId === traceId);
  const known = new Set(all.map(({ spanId }) => spanId));
  const parentOf = ({ parentSpanId }: ReceivedSpan) =>
    parentSpanId !== undefined && known.has(parentSpanId) ? parentSpanId : undefined;
  const children = Map.groupBy(
    all.toSorted((one, other) => one.startMs - other.startMs),
    parentOf,
  );
  const began = Math.min(...all.map(({ startMs }) => startMs));
  const lines: string[] = [];
  const add = (span: ReceivedSpan, depth: number): boolean => {
    const at = lines.length;
    const below = (children.get(span.spanId) ?? []).map((child) => add(child, depth + 1)).includes(true);
    const shown = invoiceId === undefined || below || isAbout(span, invoiceId);
    if (shown) lines.splice(at, 0, line(span, depth));
    return shown;
  };
  for (const root of children.get(undefined) ?? []) add(root, 0);
  return [`trace ${traceId}`, ...lines, ''].join('\n');

  function line(span: ReceivedSpan, depth: number): string {
    const { name, startMs, endMs, instance, attributes, failed } = span;
    const at = `${(startMs - began).toFixed(0)} ms`.padStart(9);
    const took = `${(endMs - startMs).toFixed(1)} ms`.padStart(10);
    const facts = Object.entries(attributes).map(([key, value]) => `${key}=${value}`);
    const why = failed === undefined ? '' : ` FAILED ${failed}`;
    return `${at} ${took}  ${'  '.repeat(depth)}${name}${why}  [${instance}] ${facts.join(' ')}`;
  }
}

function isAbout({ attributes }: ReceivedSpan, invoiceId: string): boolean {
  return attributes['invoice.id'] === invoiceId || attributes['work_item.resource'] === invoiceId;
}
