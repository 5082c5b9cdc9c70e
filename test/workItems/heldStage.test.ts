import { expect, test } from 'vitest';
import { z } from 'zod';
import { StoreAway } from '../../src/documents/documentStore.ts';
import { heldStage, nextTry } from '../../src/workItems/nextTry.ts';
import { defineStage } from '../../src/workItems/workItem.ts';

const now = Date.parse('2026-01-01T12:00:00.000Z');
const context = { resourceId: 'inv-1', signal: new AbortController().signal, assertHeld() {} };

function aStage(whyHeld: () => Promise<string | undefined>) {
  const calls: string[] = [];
  const stage = defineStage({
    name: 'call',
    input: z.strictObject({}),
    async handle(_input, { resourceId }) {
      calls.push(resourceId);
      return {};
    },
  });
  return { calls, stage: heldStage(stage, whyHeld) };
}

test('a stage on hold does nothing, and its work item comes again as it was, however long that takes', async () => {
  let why: string | undefined = 'payments are paused';
  const { calls, stage } = aStage(async () => why);
  const item = {
    resourceId: 'inv-1',
    stage: 'call',
    input: {},
    retry: { tries: 7, since: '2025-12-01T00:00:00.000Z' },
  };
  const held = await stage.run({}, context).catch((error: unknown) => error);
  expect(calls).toEqual([]);
  expect(nextTry(item, held, { stages: [stage], now })).toEqual({
    kind: 'putOff',
    message: item,
    delayMs: 30_000,
  });
  why = undefined;
  await stage.run({}, context);
  expect(calls).toEqual(['inv-1']);
});

test('while it is not known whether it is on hold, it is tried again later', async () => {
  const away = new StoreAway('noAnswer', undefined, 'away');
  const { calls, stage } = aStage(() => Promise.reject(away));
  await expect(stage.run({}, context)).rejects.toBe(away);
  expect(calls).toEqual([]);
});
