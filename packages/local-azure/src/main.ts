#!/usr/bin/env node
/** The command `local-azure`. */
import { exitFor } from './failure.ts';

// Before anything is loaded that an older Node lacks.
if (Number.parseInt(process.versions.node, 10) < 24) {
  console.error(`local-azure needs Node 24, not ${process.versions.node}`);
  process.exit(1);
}

const programs: Record<string, () => Promise<unknown>> = {
  services: () => import('./servicesMain.ts'),
  host: () => import('./functionsHost/main.ts'),
  cosmos: () => import('./cosmos/main.ts'),
  'service-bus': () => import('./serviceBus/main.ts'),
};

const usage = `local-azure [services] [options]   Cosmos DB, Service Bus and storage
local-azure host [options]         a Functions app, on them
local-azure cosmos [options]       Cosmos DB alone
local-azure service-bus [options]  Service Bus alone
local-azure --version
services and host list their options with --help.`;

const [command] = process.argv.slice(2);
if (command === '--version') console.log((await import('./version.ts')).version());
else if (command === '--help') console.log(usage);
else {
  const named = command !== undefined && !command.startsWith('-');
  const program = programs[named ? command : 'services'];
  if (program === undefined) {
    console.error(`local-azure: there is no command ${String(command)}\n${usage}`);
    process.exit(2);
  }
  // The programs read their options from the command line.
  if (named) process.argv.splice(2, 1);
  await program().catch(exitFor);
}
