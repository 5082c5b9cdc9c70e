/**
 * The module `@azure/functions-core`. Inside a worker, `@azure/functions` imports it to register functions,
 * hooks and itself. loadApp.ts makes that name resolve to this file.
 */
import type { FunctionCallback, FunctionMetadata, LogLevel, ProgrammingModel } from '../coreTypes.ts';
import { type HookCallback, type HookName, hookNames, registeredApp } from './registeredApp.ts';

/** Version of the Node worker whose contract this module implements. */
export const version = '3.9.0';
/** Version of the real host whose behaviour was measured. */
export const hostVersion = '4.1037.0';

export class Disposable {
  readonly #callOnDispose: () => unknown;

  static from(...parts: { dispose(): unknown }[]): Disposable {
    return new Disposable(() => {
      for (const part of parts) part.dispose();
    });
  }

  constructor(callOnDispose: () => unknown) {
    this.#callOnDispose = callOnDispose;
  }

  dispose(): unknown {
    return this.#callOnDispose();
  }
}

export function registerFunction(metadata: FunctionMetadata, callback: FunctionCallback): Disposable {
  const { functions } = registeredApp;
  if (registeredApp.locked) {
    throw new Error(`Function "${metadata.name}": a function can only be registered during app startup.`);
  }
  if ([...functions.keys()].some((name) => name.toLowerCase() === metadata.name.toLowerCase())) {
    throw new Error(`A function with id "${metadata.name}" has already been registered.`);
  }
  functions.set(metadata.name, { metadata, callback });
  return new Disposable(() => {
    if (registeredApp.locked) throw new Error('A function can only be disposed during app startup.');
    functions.delete(metadata.name);
  });
}

function isHookName(name: string): name is HookName {
  return hookNames.some((known) => known === name);
}

export function registerHook(name: string, callback: HookCallback): Disposable {
  // `@azure/functions` recognises this kind of error and reports which hooks need another host.
  if (!isHookName(name)) {
    throw Object.assign(new RangeError(`Unrecognized hook "${name}"`), { isAzureFunctionsSystemError: true });
  }
  const hooks = registeredApp.hooks.get(name);
  hooks?.add(callback);
  return new Disposable(() => hooks?.delete(callback));
}

export function setProgrammingModel(model: ProgrammingModel): void {
  registeredApp.programmingModel = model;
}

export function getProgrammingModel(): ProgrammingModel | undefined {
  return registeredApp.programmingModel;
}

export function log(level: LogLevel, _category: string, message: string): void {
  registeredApp.log(level, message);
}
