import type { FunctionCallback, FunctionMetadata, LogLevel, ProgrammingModel } from './coreTypes.ts';

export const hookNames = ['appStart', 'appTerminate', 'preInvocation', 'postInvocation'] as const;
export type HookName = (typeof hookNames)[number];
export type HookCallback = (context: object) => unknown;

export interface RegisteredFunction {
  metadata: FunctionMetadata;
  callback: FunctionCallback;
}

/**
 * What the app has registered so far. There is one per process, because the programming model registers through a
 * module that is one per process: a second app needs a second process.
 */
export const registeredApp = {
  functions: new Map<string, RegisteredFunction>(),
  hooks: new Map<HookName, Set<HookCallback>>(hookNames.map((name) => [name, new Set()])),
  programmingModel: undefined as ProgrammingModel | undefined,
  /** Shared by every hook of the app (`context.hookData` of app hooks, `appHookData` of all). */
  appHookData: {} as Record<string, unknown>,
  appOnlyHookData: {} as Record<string, unknown>,
  /** Set once the app is loaded: nothing can be registered afterwards. */
  locked: false,
  log: (level: LogLevel, message: string): void => {
    if (level !== 'trace' && level !== 'debug') console.error(message);
  },
};

/** Runs the hooks one after the other in the order of their registration; one that throws stops the rest. */
export async function runHooks(name: HookName, context: object): Promise<void> {
  for (const hook of registeredApp.hooks.get(name) ?? []) await hook(context);
}
