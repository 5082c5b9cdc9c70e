import { expect, test } from 'vitest';
import { unreadableReport } from '../../src/documents/readable.ts';
import { metric } from '../../src/platform/telemetry.ts';
import { recordedTelemetry } from '../support/recordedTelemetry.ts';

test('every time counts, the log has each document once', () => {
  const telemetry = recordedTelemetry();
  const lines: string[] = [];
  const report = unreadableReport({ telemetry, log: (line) => lines.push(line) });
  report({ type: 'invoice', id: 'i1', problem: 'attempts: expected number' });
  report({ type: 'invoice', id: 'i1', problem: 'attempts: expected number' });
  report({ type: 'outboxMessage', id: 'i1', problem: 'body: missing' });
  expect(telemetry.reports.map(({ name, attributes }) => [name, attributes.type])).toEqual([
    [metric.documentUnreadable, 'invoice'],
    [metric.documentUnreadable, 'invoice'],
    [metric.documentUnreadable, 'outboxMessage'],
  ]);
  expect(lines).toEqual([
    'invoice "i1" cannot be read and is passed by: attempts: expected number',
    'outboxMessage "i1" cannot be read and is passed by: body: missing',
  ]);
});
