import { describe, expect, test } from 'vitest';
import type { Role } from '../../src/ops/answers/overviewAnswers.ts';
import type { Call } from '../../src/ops/call.ts';
import { callerOf, type SignIn, whyNotAdmitted } from '../../src/ops/caller.ts';
import { calls } from '../../src/ops/calls.ts';
import { signedIn } from '../support/opsForTests.ts';

describe('who calls', () => {
  const caller = (headers: Record<string, string>, signIn: SignIn) =>
    callerOf({ headers: new Headers(headers) }, signIn);

  test('with the platform’s sign-in, its principal names the caller and their roles', () => {
    expect(caller(signedIn('ada@example.com', 'ops.read'), 'platform')).toEqual({
      actor: 'ada@example.com',
      roles: ['ops.read'],
    });
    expect(caller(signedIn('ada@example.com', 'ops.write'), 'platform').roles).toEqual([
      'ops.read',
      'ops.write',
    ]);
    expect(caller(signedIn('ada@example.com', 'invoices.admin'), 'platform').roles).toEqual([]);
  });

  test('without it nobody can claim to be somebody: such headers are the caller’s own', () => {
    const forged = signedIn('ceo@example.com', 'ops.write');
    expect(caller(forged, 'none')).toEqual(caller({}, 'none'));
    expect(caller(forged, 'none').actor).toBe('function key');
  });

  test('where a sign-in is required that the platform does not give, nobody may do anything', () => {
    for (const headers of [{}, signedIn('ceo@example.com', 'ops.write')]) {
      expect(caller(headers, 'missing').roles).toEqual([]);
      expect(caller(headers, 'missing').actor).toContain('OPS_SIGN_IN');
    }
  });

  test.each([['%%%'], [Buffer.from('{"claims": "all"}').toString('base64')], ['']])(
    'a principal that cannot be read, %j, has no roles',
    (principal) => {
      expect(caller({ 'x-ms-client-principal': principal }, 'platform').roles).toEqual([]);
    },
  );

  test('a caller is known by name and object id, and one without a name by the id', () => {
    const ada = { ...signedIn('ada@example.com', 'ops.read'), 'x-ms-client-principal-id': '7c0e' };
    expect(caller(ada, 'platform')).toMatchObject({ actor: 'ada@example.com', actorId: '7c0e' });

    const headers = { 'x-ms-client-principal-name': ' ', 'x-ms-client-principal-id': '7c0e' };
    expect(caller(headers, 'platform').actor).toBe('7c0e');
  });
});

test('a reader changes nothing, and somebody without a role reads nothing', () => {
  const headers = new Headers({ 'content-type': 'application/json' });
  const status = (role: Role, ...roles: Role[]) =>
    whyNotAdmitted({ role }, { headers }, { actor: 'ada', roles })?.status;
  expect(status('ops.read', 'ops.read')).toBe(undefined);
  expect(status('ops.write', 'ops.read')).toBe(403);
  expect(status('ops.read')).toBe(403);
  expect(status('ops.write', 'ops.read', 'ops.write')).toBe(undefined);
});

describe('what a browser sends for another site is refused', () => {
  const writer = callerOf({ headers: new Headers() }, 'none');
  const change = { role: 'ops.write' } as const;
  const status = (headers: Record<string, string>) =>
    whyNotAdmitted(change, { headers: new Headers(headers) }, writer)?.status;
  const json = 'application/json; charset=utf-8';

  test.each([['cross-site'], ['same-site'], ['anything else']])('Sec-Fetch-Site: %s', (site) => {
    expect(status({ 'sec-fetch-site': site, 'content-type': json })).toBe(403);
  });

  test.each([[undefined], ['same-origin'], ['none']])('but not with Sec-Fetch-Site: %s', (site) => {
    expect(status({ 'content-type': json, ...(site === undefined ? {} : { 'sec-fetch-site': site }) })).toBe(
      undefined,
    );
  });

  test.each([
    ['text/plain'],
    ['application/x-www-form-urlencoded'],
    ['multipart/form-data; boundary=x'],
    ['?'],
  ])('a body of type %s is a 415', (type) => {
    expect(status({ 'content-type': type })).toBe(415);
  });

  test('so is a body without a type; no body needs none', () => {
    expect(status({ 'content-length': '2' })).toBe(415);
    expect(status({ 'transfer-encoding': 'chunked' })).toBe(415);
    expect(status({ 'content-length': '0' })).toBe(undefined);
    expect(status({})).toBe(undefined);
  });
});

test('each call that reads needs the role to read, and each other one the role to write; changes and exports have a name in the audit trail', () => {
  for (const { method, role, audit, answer } of Object.values<Call>(calls)) {
    expect(role).toBe(method === 'GET' ? 'ops.read' : 'ops.write');
    const exports = answer.csv !== undefined && answer.json === undefined;
    expect(audit !== undefined).toBe(method !== 'GET' || exports);
  }
});
