import { afterEach, describe, expect, test } from 'vitest';
import { recordSpans } from '../../../test/support/recordedSpans.ts';
import { activeTrace, inSpan, inTrace, noteInSpan, parseTraceparent } from '../src/tracing.ts';

let recording: Awaited<ReturnType<typeof recordSpans>> | undefined;
afterEach(() => recording?.finish());
const record = async (options: Parameters<typeof recordSpans>[0] = {}) => {
  recording = await recordSpans(options);
  return recording;
};

const carried = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00';
const host = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00';

test('without a tracer work is done as if there were none: the very same promise, and no trace', () => {
  const promise = Promise.resolve(7);
  expect(inSpan('work', { parent: carried }, () => promise)).toBe(promise);
  expect(activeTrace()).toEqual({});
  const fn = () => 1;
  expect(inTrace(carried, fn)).toBe(fn);
  noteInSpan({ a: 1 });
});

describe('with a tracer', () => {
  test('spans nest over awaits, and say what came of their work', async () => {
    const { finish } = await record();
    const result = await inSpan('outer', { attributes: { 'run.id': 'r' } }, async () => {
      await new Promise((resolve) => setTimeout(resolve, 1));
      noteInSpan({ noted: true });
      return inSpan(
        'inner',
        { kind: 'producer' },
        async () => 3,
        (n) => ({ attributes: { n }, failed: 'odd' }),
      );
    });
    expect(result).toBe(3);
    const [inner, outer] = await finish();
    expect(inner).toMatchObject({ name: 'inner', attributes: { n: 3 }, failed: 'odd', kind: 3 });
    expect(inner).toMatchObject({ traceId: outer?.traceId, parentSpanId: outer?.spanId });
    expect(outer).toMatchObject({ attributes: { 'run.id': 'r', noted: true }, failed: undefined, kind: 0 });
  });

  test('an error marks the span with its name: its text may hold anything', async () => {
    const { finish } = await record();
    const failing = inSpan('work', {}, () => Promise.reject(new RangeError('card 4242 of cus_1')));
    await expect(failing).rejects.toThrow('4242');
    const [span] = await finish();
    expect(span?.failed).toBe('RangeError');
    expect(JSON.stringify(span)).not.toContain('4242');
  });

  test('work goes on with the trace that it carries, and links to the span of the host', async () => {
    const { finish } = await record();
    await inTrace(host, () => inSpan('work', { parent: carried }, async () => {}))();
    const [span] = await finish();
    expect(span).toMatchObject({
      traceId: parseTraceparent(carried)?.traceId,
      parentSpanId: parseTraceparent(carried)?.spanId,
      links: [parseTraceparent(host)?.traceId],
    });
  });

  test('work that carries none belongs to the trace of the host, also where that is not sampled', async () => {
    const { finish } = await record();
    const stored = await inTrace(host, () => inSpan('work', {}, async () => activeTrace()))();
    const [span] = await finish();
    expect(span).toMatchObject({
      traceId: parseTraceparent(host)?.traceId,
      parentSpanId: parseTraceparent(host)?.spanId,
    });
    expect(stored.traceparent).toBe(`00-${span?.traceId}-${span?.spanId}-01`);
  });

  test('what cannot be read as a traceparent starts a new trace', async () => {
    const { finish } = await record();
    await inSpan('work', { parent: 'nonsense' }, async () => {});
    expect(await finish()).toMatchObject([{ name: 'work', parentSpanId: undefined, links: [] }]);
  });

  test('at a share of 0 all but the spans of single invoices is exported, and of these what has failed', async () => {
    const { finish } = await record({ sample: 0 });
    await inSpan('pay batch', { attributes: { 'batch.id': 'b' } }, async () => {
      for (const id of ['good', 'bad']) {
        const failed = id === 'bad' ? 'declined' : undefined;
        await inSpan(
          'pay invoice',
          { attributes: { 'invoice.id': id } },
          async () => {},
          () => ({ failed }),
        );
      }
    });
    const spans = await finish();
    expect(spans.map(({ name, attributes }) => [name, attributes['invoice.id']])).toEqual([
      ['pay invoice', 'bad'],
      ['pay batch', undefined],
    ]);
    expect(spans[0]).toMatchObject({ parentSpanId: spans[1]?.spanId, traceFlags: 1 });
  });

  test('a sampled detail says for how many it stands; one that has failed stands for itself', async () => {
    const { finish } = await record({ sample: 0.5 });
    await inSpan('pay batch', {}, async () => {
      for (let n = 0; n < 40; n++) {
        const attributes = { 'invoice.id': `${n}` };
        const failed = n % 2 === 0 ? 'declined' : undefined;
        await inSpan(
          'pay invoice',
          { attributes },
          async () => {},
          () => ({ failed }),
        );
      }
    });
    const spans = (await finish()).filter(({ name }) => name === 'pay invoice');
    const rates = new Set(spans.map((span) => `${span.failed} ${String(span.attributes['_MS.sampleRate'])}`));
    expect(rates).toEqual(new Set(['declined undefined', 'undefined 50']));
    expect(spans.filter(({ failed }) => failed !== undefined)).toHaveLength(20);
  });

  test('a detail that is not sampled leaves its place to the span around it, and nothing on it', async () => {
    const { finish } = await record({ sample: 0 });
    const stored = await inSpan('pay batch', {}, () =>
      inSpan('pay invoice', { attributes: { 'invoice.id': 'i' } }, async () => {
        await new Promise((resolve) => setTimeout(resolve, 1));
        noteInSpan({ 'payment.call_ms': 40 });
        return activeTrace();
      }),
    );
    const [batch, ...others] = await finish();
    expect(others).toEqual([]);
    expect(batch?.attributes).toEqual({});
    expect(stored.traceparent).toBe(`00-${batch?.traceId}-${batch?.spanId}-00`);
  });

  test('if it fails, its span is made late, with all that is known of it and the time at which it began', async () => {
    const { finish } = await record({ sample: 0 });
    const before = Date.now();
    await inSpan('pay invoice', { attributes: { 'invoice.id': 'i' }, parent: carried }, async () => {
      await inSpan('call', {}, async () => noteInSpan({ inner: true }));
      noteInSpan({ 'payment.call_ms': 40 });
      await new Promise((resolve) => setTimeout(resolve, 20));
      throw new RangeError();
    }).catch(() => undefined);
    const [inner, late] = await finish();
    expect(inner?.attributes).toEqual({ inner: true });
    expect(late).toMatchObject({
      name: 'pay invoice',
      failed: 'RangeError',
      attributes: { 'invoice.id': 'i', 'payment.call_ms': 40, 'error.type': 'RangeError' },
      traceId: parseTraceparent(carried)?.traceId,
      parentSpanId: parseTraceparent(carried)?.spanId,
    });
    expect(late?.startedAt).toBeGreaterThanOrEqual(before);
    expect(late?.endedAt).toBeGreaterThanOrEqual((late?.startedAt ?? 0) + 15);
  });

  test('a detail without a span around it starts a trace, to which its late span belongs', async () => {
    const { finish } = await record({ sample: 0 });
    let stored: string | undefined;
    await inSpan('work item', { attributes: { 'work_item.resource': 'i' } }, async () => {
      stored = activeTrace().traceparent;
      throw new Error();
    }).catch(() => undefined);
    const [late] = await finish();
    expect(parseTraceparent(stored ?? '')?.traceId).toBe(late?.traceId);
  });
});
