// npm run emulators:prepare: waits for the emulators of compose.yaml, then creates in them the containers and
// queues that infra/ creates in Azure. The addresses come from local.settings.json, which npm run start:func
// uses too.
import { readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import { provision } from '../local/provision.ts';

/** Startup timeout for all of them together, in milliseconds. */
const startMs = 240_000;
/** Readiness endpoints of Cosmos DB and Service Bus. Azurite starts within a second. */
const readiness = ['http://127.0.0.1:8080/ready', 'http://127.0.0.1:5300/health'];

const localSettings = z.object({ Values: z.object({ AzureWebJobsStorage: z.string(), Cosmos: z.string() }) });
const file = new URL('../local.settings.json', import.meta.url);
const { Values } = localSettings.parse(JSON.parse(readFileSync(file, 'utf8')));
const deadline = Date.now() + startMs;
for (const address of readiness) await untilReady(address);
await provision({ storage: Values.AzureWebJobsStorage, cosmos: Values.Cosmos });
console.log('emulators prepared');

async function untilReady(address: string): Promise<void> {
  for (;;) {
    const answer = await fetch(address).catch((cause: unknown) => ({ ok: false, cause }));
    if (answer.ok) return;
    if (Date.now() > deadline)
      throw new Error(`${address} does not answer within ${startMs / 1000} s`, { cause: answer });
    await setTimeout(1_000);
  }
}
