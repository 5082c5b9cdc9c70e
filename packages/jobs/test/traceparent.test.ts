import { describe, expect, test } from 'vitest';
import {
  formatTraceparent,
  parseTraceparent,
  traceIdOf,
  traceProperties,
  traceparentIn,
} from '../src/tracing.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';
const traceparent = `00-${traceId}-${spanId}-01`;

describe('a traceparent', () => {
  test('is read and written in the form of the standard', () => {
    expect(parseTraceparent(traceparent)).toEqual({ traceId, spanId, sampled: true });
    expect(formatTraceparent({ traceId, spanId, sampled: true })).toBe(traceparent);
    expect(parseTraceparent(`00-${traceId}-${spanId}-00`)?.sampled).toBe(false);
    expect(traceIdOf(traceparent)).toBe(traceId);
  });

  test('of a later version of the standard is read as far as it is known', () => {
    expect(parseTraceparent(`01-${traceId}-${spanId}-03-more`)).toEqual({ traceId, spanId, sampled: true });
  });

  test.each([
    ['nothing', undefined],
    ['a number', 7],
    ['another text', 'abc'],
    ['no trace', `00-${'0'.repeat(32)}-${spanId}-01`],
    ['no span', `00-${traceId}-${'0'.repeat(16)}-01`],
    ['a forbidden version', `ff-${traceId}-${spanId}-01`],
    ['capitals', traceparent.toUpperCase()],
    ['a line break', `${traceparent}\n`],
  ])('is not %s', (_what, given) => {
    expect(parseTraceparent(given)).toBeUndefined();
  });
});

describe('on a message of Service Bus', () => {
  test('travels under both names, and is found under each, as a function gets them', () => {
    expect(traceProperties(traceparent)).toEqual({ 'Diagnostic-Id': traceparent, traceparent });
    for (const name of ['traceparent', 'Diagnostic-Id', 'diagnostic-Id'])
      expect(traceparentIn({ [name]: traceparent })).toBe(traceparent);
  });

  test('is left out if it cannot be read', () => {
    expect(traceProperties('x')).toEqual({});
    expect(traceparentIn({ traceparent: 'x' })).toBeUndefined();
    expect(traceparentIn(undefined)).toBeUndefined();
  });
});
