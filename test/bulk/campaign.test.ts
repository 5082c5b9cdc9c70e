import { expect, test } from 'vitest';
import { bulkCampaign } from './campaign.ts';

test('each is retried or redriven once while hosts are killed, and the audit says who and why', async () => {
  const { problems } = await bulkCampaign({
    seed: 1,
    invoices: 300,
    messages: 100,
    deadLetters: 40,
    kills: 2,
    killEveryMs: 1_000,
    withinMs: 250_000,
  });
  expect(problems).toEqual([]);
}, 400_000);
