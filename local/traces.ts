/**
 * `npm run cloud -- traces [--port P]`: receives the traces of hosts that run with `OTEL_EXPORTER_OTLP_ENDPOINT`, and shows them
 * as text (docs/tracing.md).
 */
import { parseArgs } from 'node:util';
import { onStopAsked } from '../packages/local-azure/src/onStopAsked.ts';
import { portArgument } from '../packages/local-azure/src/portArgument.ts';
import { startTraceReceiver } from './traces/traceReceiver.ts';

const { values } = parseArgs({ options: { port: { type: 'string', default: '4318' } } });
const receiver = await startTraceReceiver({ port: portArgument('--port', values.port) });
console.log(`Send traces here:  OTEL_EXPORTER_OTLP_ENDPOINT=${receiver.endpoint} TRACE_SAMPLE=1 npm start`);
console.log(`Look one up:       curl '${receiver.endpoint}/?invoice=ID'`);
console.log('ready');
onStopAsked(() => void receiver[Symbol.asyncDispose]().then(() => process.exit(0)));
