import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { inspect, parseArgs } from 'node:util';
import { onStopAsked } from '../onStopAsked.ts';
import { portArgument } from '../portArgument.ts';
import { HostStartError } from './hostStartError.ts';
import { parseEnvFile, type Settings } from './settings.ts';
import { type FunctionsHost, startFunctionsHost } from './startFunctionsHost.ts';

const usage = `Usage: npm run host -- --port P [--app DIR] [--env-file FILE] [--enable-auth] [--no-timer-singleton] [--stay-up]
  --port P               HTTP port on 127.0.0.1; 0 for any free one (default 7071)
  --app DIR              folder with package.json and host.json (default: this project)
  --env-file FILE        KEY=value lines; variables that are set already win (default .local/env, if it exists)
  --enable-auth          require keys; the master key is the setting FUNCTIONS_MASTER_KEY
  --no-timer-singleton   let every host fire its timers
  --stay-up              if the app cannot be loaded, run without a function, as in Azure
`;

const projectDir = fileURLToPath(new URL('../../', import.meta.url));

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '7071' },
      app: { type: 'string', default: projectDir },
      'env-file': { type: 'string' },
      'enable-auth': { type: 'boolean', default: false },
      'timer-singleton': { type: 'boolean', default: true },
      'stay-up': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
    allowNegative: true,
  });
  if (values.help) return console.log(usage);

  const host = await startFunctionsHost({
    appDir: values.app,
    port: portArgument('--port', values.port),
    settings: readSettings(values['env-file']),
    enableAuth: values['enable-auth'],
    timerSingleton: values['timer-singleton'],
    staysUp: values['stay-up'],
  });
  describe(host);

  onStopAsked((how) => {
    host.stop(how).then(
      () => process.exit(0),
      (error: unknown) => fail(error),
    );
  });
  console.log('ready');
}

function readSettings(file: string | undefined): Settings {
  const path = file ?? '.local/env';
  if (file === undefined && !existsSync(path)) return {};
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

function fail(error: unknown): never {
  console.error(error instanceof HostStartError ? error.message : inspect(error));
  process.exit(1);
}

await main().catch(fail);
