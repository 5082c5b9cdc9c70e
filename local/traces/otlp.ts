import { z } from 'zod';

/** A span as a receiver keeps it. Times are milliseconds since the epoch. */
export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  /** Absent: the first of its trace, as far as this receiver knows. */
  parentSpanId?: string;
  name: string;
  /** The process that it comes from. */
  instance: string;
  kind: number;
  startMs: number;
  endMs: number;
  attributes: Record<string, string | number | boolean>;
  links: { traceId: string; spanId: string }[];
  /** Why it has failed. */
  failed?: string;
}

// The JSON form of OTLP (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding).
const value = z.object({
  stringValue: z.string().optional(),
  intValue: z.coerce.number().optional(),
  doubleValue: z.number().optional(),
  boolValue: z.boolean().optional(),
});
const attributes = z
  .array(z.object({ key: z.string(), value }))
  .default([])
  .transform((list) =>
    Object.fromEntries(
      list.map(({ key, value: { stringValue, intValue, doubleValue, boolValue } }) => [
        key,
        stringValue ?? intValue ?? doubleValue ?? boolValue ?? '',
      ]),
    ),
  );
const nanos = z.union([z.string(), z.number()]).transform((text) => Number(BigInt(text) / 1_000n) / 1_000);
const span = z.object({
  traceId: z.string(),
  spanId: z.string(),
  parentSpanId: z.string().optional(),
  name: z.string(),
  kind: z.number().default(1),
  startTimeUnixNano: nanos,
  endTimeUnixNano: nanos,
  attributes,
  links: z.array(z.object({ traceId: z.string(), spanId: z.string() })).default([]),
  status: z.object({ code: z.number().default(0), message: z.string().default('') }).prefault({}),
});
const request = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes }).prefault({}),
      scopeSpans: z.array(z.object({ spans: z.array(span) })),
    }),
  ),
});

const failedCode = 2;

/** The spans of an export request. @throws ZodError if it is something else */
export function spansOf(body: unknown): ReceivedSpan[] {
  return request.parse(body).resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans
      .flatMap(({ spans }) => spans)
      .map(({ parentSpanId, startTimeUnixNano, endTimeUnixNano, status, ...rest }) => ({
        ...rest,
        ...(parentSpanId === undefined || parentSpanId === '' ? {} : { parentSpanId }),
        instance: String(resource.attributes['service.instance.id'] ?? ''),
        startMs: startTimeUnixNano,
        endMs: endTimeUnixNano,
        ...(status.code === failedCode ? { failed: status.message } : {}),
      })),
  );
}
