/**
 * Loaded into a host of the demo before the app (`node --import`): puts guardedApp.ts in place of src/payonce.ts, and lets the
 * host's clock be set. The app itself has no way to do either.
 */
import { registerHooks } from 'node:module';
import { readSwitches, switchFileSetting } from './switchFile.ts';

const guarded = new URL('./guardedApp.ts', import.meta.url).href;
const original = /\/src\/payonce\.(ts|js)$/;
registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    return original.test(found.url) ? { ...found, url: guarded, format: 'module-typescript' } : found;
  },
});

const { [switchFileSetting]: file = '', INSTANCE_ID: host = '' } = process.env;
let offsetMs = 0;
const look = () => {
  offsetMs = readSwitches(file).clocks[host] ?? 0;
};
look();
setInterval(look, 250).unref();

globalThis.Date = new Proxy(Date, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [target.now() + offsetMs] : args, newTarget) as object,
  get: (target, name) =>
    name === 'now' ? () => target.now() + offsetMs : (Reflect.get(target, name) as unknown),
});
