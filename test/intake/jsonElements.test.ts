import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ArrayEvent, jsonElements } from '../../src/intake/jsonElements.ts';

function eventsOf(parts: readonly string[], limits = { rowBytes: 10_000, nesting: 50 }): ArrayEvent[] {
  const elements = jsonElements(limits);
  return parts.flatMap((part) => [...elements.push(part)]);
}

test('an array of any values is split into them, wherever it is cut', () => {
  fc.assert(
    fc.property(
      fc.array(fc.jsonValue()),
      fc.constantFrom(undefined, 1, '\t'),
      fc.array(fc.nat({ max: 5_000 })),
      (values, indent, places) => {
        const text = Buffer.from(JSON.stringify(values, undefined, indent)).toString('latin1');
        const at = [
          0,
          ...places.map((place) => place % (text.length + 1)).toSorted((a, b) => a - b),
          text.length,
        ];
        const parts = at.slice(1).map((end, n) => text.slice(at[n], end));
        const found = eventsOf(parts).map((event) =>
          event.kind === 'element'
            ? (JSON.parse(Buffer.from(event.text, 'latin1').toString()) as unknown)
            : event,
        );
        expect(found).toEqual(JSON.parse(JSON.stringify(values)));
      },
    ),
    { numRuns: 2_000 },
  );
});

test('an element that is too long or too deep is passed over, and keeps no text', () => {
  const limits = { rowBytes: 20, nesting: 3 };
  const parts = [`[1,"${'x'.repeat(50)}`, 'y'.repeat(50), `",[[[[2]]]],[[[3]]],4]`];
  expect(eventsOf(parts, limits)).toEqual([
    { kind: 'element', text: '1', place: { line: 1, position: 1 } },
    { kind: 'refused', error: 'expected a row of at most 20 bytes' },
    { kind: 'refused', error: 'expected at most 3 levels of nesting' },
    { kind: 'element', text: '[[[3]]]', place: { line: 1, position: 116 } },
    { kind: 'element', text: '4', place: { line: 1, position: 124 } },
  ]);
});

test('an element has its place in the body, wherever that is cut', () => {
  fc.assert(
    fc.property(
      fc.array(fc.jsonValue(), { minLength: 1 }),
      fc.array(fc.nat({ max: 5_000 })),
      (values, places) => {
        const text = `\n ${Buffer.from(JSON.stringify(values, undefined, 1)).toString('latin1')}`;
        const at = [
          0,
          ...places.map((place) => place % (text.length + 1)).toSorted((a, b) => a - b),
          text.length,
        ];
        const events = eventsOf(at.slice(1).map((end, n) => text.slice(at[n], end)));
        for (const event of events) {
          if (event.kind !== 'element') throw new Error(event.kind);
          const { position, line } = event.place;
          expect(text.slice(position, position + event.text.length)).toBe(event.text);
          expect(line).toBe(text.slice(0, position).split('\n').length);
        }
      },
    ),
  );
});
