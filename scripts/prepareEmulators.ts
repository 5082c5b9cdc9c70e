// npm run emulators:prepare: makes in the emulators of compose.yaml the containers and queues that infra/ makes in Azure.
// The addresses are those of local.settings.json, which npm run start:func uses too.
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { provision } from '../local/provision.ts';

const localSettings = z.object({ Values: z.object({ AzureWebJobsStorage: z.string(), Cosmos: z.string() }) });
const file = new URL('../local.settings.json', import.meta.url);
const { Values } = localSettings.parse(JSON.parse(readFileSync(file, 'utf8')));
await provision({ storage: Values.AzureWebJobsStorage, cosmos: Values.Cosmos });
console.log('prepared');
