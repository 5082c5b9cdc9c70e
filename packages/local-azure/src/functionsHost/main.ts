import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { exitFor, orTaken } from '../failure.ts';
import { onStopAsked } from '../onStopAsked.ts';
import { portArgument } from '../portArgument.ts';
import { version } from '../version.ts';
import { HostStartError } from './hostStartError.ts';
import { parseEnvFile, readLocalSettings, type Settings } from './settings.ts';
import { type FunctionsHost, startFunctionsHost } from './startFunctionsHost.ts';
import { watch } from './watch.ts';

const usage = `local-azure host [options]
  --port P               HTTP port on 127.0.0.1; 0 for any free one (default 7071)
  --app DIR              folder with package.json and host.json (default: the current one)
  --env-file FILE        KEY=value lines, instead of .local/env and the app's local.settings.json, which are read if they
                         exist, and of which the first wins. Variables that are set already win over all of them
  --enable-auth          require keys; the master key is the setting FUNCTIONS_MASTER_KEY
  --no-timer-singleton   let every host fire its timers
  --stay-up              if the app cannot be loaded, run without a function, as in Azure
  --skip-unsupported     leave out functions that need what this host lacks; else it does not start
  --inspect P            let a debugger attach to the app on this port; 0 for any free one
  --watch                start anew whenever a file of the app changes
  --version              print the version
`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '7071' },
      app: { type: 'string', default: '.' },
      'env-file': { type: 'string' },
      'enable-auth': { type: 'boolean', default: false },
      'timer-singleton': { type: 'boolean', default: true },
      'stay-up': { type: 'boolean', default: false },
      'skip-unsupported': { type: 'boolean', default: false },
      inspect: { type: 'string' },
      watch: { type: 'boolean', default: false },
      version: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
    allowNegative: true,
  });
  if (values.help) return console.log(usage);
  if (values.version) return console.log(version());

  if (values.watch) {
    const args = process.argv.slice(2).filter((argument) => argument !== '--watch');
    return watch(values.app, fileURLToPath(import.meta.url), args);
  }

  const port = portArgument('--port', values.port);
  const starting = startFunctionsHost({
    appDir: values.app,
    port,
    settings: readSettings(values['env-file'], values.app),
    enableAuth: values['enable-auth'],
    timerSingleton: values['timer-singleton'],
    staysUp: values['stay-up'],
    skipUnsupported: values['skip-unsupported'],
    inspect: values.inspect === undefined ? undefined : portArgument('--inspect', values.inspect),
  });
  const host = await orTaken('--port', port, starting);
  describe(host);

  onStopAsked((how) => {
    host.stop(how).then(() => process.exit(0), exitFor);
  });
  console.log('ready');
}

function readSettings(file: string | undefined, appDir: string): Settings {
  if (file !== undefined) return readEnvFile(file);
  const ofTools = join(appDir, 'local.settings.json');
  return {
    ...(existsSync(ofTools) ? readLocalSettings(ofTools) : {}),
    ...(existsSync('.local/env') ? readEnvFile('.local/env') : {}),
  };
}

function readEnvFile(path: string): Settings {
  try {
    return parseEnvFile(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new HostStartError(`--env-file ${path} cannot be read`, { cause: error });
  }
}

function describe({ address, instanceId, files, functions }: FunctionsHost): void {
  console.log(`host ${instanceId} on ${address}`);
  console.log(`loaded ${files.join(', ')}`);
  for (const { name, trigger } of functions)
    console.log(`  ${name}: ${trigger.type === 'durable' ? trigger.kind : trigger.type}`);
}

await main().catch(exitFor);
