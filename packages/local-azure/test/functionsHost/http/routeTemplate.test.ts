import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compareRoutes, parseRoute } from '../../../src/functionsHost/http/routeTemplate.ts';

describe('matching a path', () => {
  test.each<[string, string, Record<string, string> | undefined]>([
    ['api/orders', '/api/orders', {}],
    ['api/orders', '/API/Orders/', {}],
    ['api/orders', '/api/orders/1', undefined],
    ['api/orders/{id}', '/api/orders/a%2Fb', { id: 'a/b' }],
    ['api/orders/{id}', '/api/orders', undefined],
    ['api/orders/{id?}', '/api/orders', {}],
    ['api/orders/{id=new}', '/api/orders', { id: 'new' }],
    ['api/orders/{id=new}', '/api/orders/7', { id: '7' }],
    ['api/{a}/x/{b}', '/api/1/x/2', { a: '1', b: '2' }],
    ['api/{*rest}', '/api/a/b/c', { rest: 'a/b/c' }],
    ['api/{*rest}', '/api', {}],
    ['api/{**rest}', '/api/a/b', { rest: 'a/b' }],
    ['files/{name}.{ext}', '/files/a.b.txt', { name: 'a', ext: 'b.txt' }],
    ['v{major:int}/x', '/v12/x', { major: '12' }],
    ['', '/', {}],
  ])('%s on %s', (template, path, expected) => {
    expect(parseRoute(template).match(path)).toEqual(expected);
  });
});

describe('constraints', () => {
  test.each([
    ['int', '-12', '1.5'],
    ['int', '2147483647', '2147483648'],
    ['long', '9223372036854775807', '9223372036854775808'],
    ['bool', 'True', 'yes'],
    ['decimal', '19.99', 'x'],
    ['double', '1e3', 'e'],
    ['datetime', '2026-01-02', 'someday'],
    ['guid', 'CD2C1638-1638-72D5-1638-DEADBEEF1638', 'CD2C1638'],
    ['alpha', 'abC', 'ab1'],
    ['length(3)', 'abc', 'ab'],
    ['length(2,3)', 'ab', 'abcd'],
    ['minlength(2)', 'ab', 'a'],
    ['maxlength(2)', 'ab', 'abc'],
    ['min(18)', '18', '17'],
    ['max(18)', '18', '19'],
    ['range(18,20)', '19', '21'],
    [String.raw`regex(^\d{{3}}-\d{{4}}$)`, '123-4567', '123-456'],
    ['int:min(5)', '5', '4'],
  ])('%s accepts %s, rejects %s', (constraint, good, bad) => {
    const template = parseRoute(`x/{v:${constraint}}`);
    expect(template.match(`/x/${good}`)).toEqual({ v: good });
    expect(template.match(`/x/${bad}`)).toBeUndefined();
  });

  test('an unknown constraint is an error that names it', () => {
    expect(() => parseRoute('x/{v:colour}')).toThrow('unknown route constraint colour');
  });
});

test('the more specific route is tried first', () => {
  const templates = ['{*all}', 'a/{x}', '{x}/b', 'a/{x:int}', 'a/b', 'a/{*rest}'];
  const sorted = templates.toSorted((a, b) => compareRoutes(parseRoute(a), parseRoute(b)));
  expect(sorted).toEqual(['a/b', 'a/{x:int}', 'a/{x}', 'a/{*rest}', '{x}/b', '{*all}']);
});

test('any encoded value round-trips', () => {
  const template = parseRoute('api/{value}');
  fc.assert(
    fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), (value) => {
      expect(template.match(`/api/${encodeURIComponent(value)}`)).toEqual({ value });
    }),
  );
});
