// npm run emulators:prepare: waits for the emulators of compose.yaml, then makes in them the containers and queues that
// infra/ makes in Azure.
// The addresses are those of local.settings.json, which npm run start:func uses too.
import { readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import { provision } from '../local/provision.ts';

/** How long all of them may take to start, in milliseconds. */
const startMs = 240_000;
/** Where Cosmos DB and Service Bus say that they are ready; Azurite starts in a second. */
const readiness = ['http://127.0.0.1:8080/ready', 'http://127.0.0.1:5300/health'];

const localSettings = z.object({ Values: z.object({ AzureWebJobsStorage: z.string(), Cosmos: z.string() }) });
const file = new URL('../local.settings.json', import.meta.url);
const { Values } = localSettings.parse(JSON.parse(readFileSync(file, 'utf8')));
const deadline = Date.now() + startMs;
for (const address of readiness) await untilReady(address);
await provision({ storage: Values.AzureWebJobsStorage, cosmos: Values.Cosmos });
console.log('prepared');

async function untilReady(address: string): Promise<void> {
  for (;;) {
    const answer = await fetch(address).catch((cause: unknown) => ({ ok: false, cause }));
    if (answer.ok) return;
    if (Date.now() > deadline) throw new Error(`${address} does not answer`, { cause: answer });
    await setTimeout(1_000);
  }
}
