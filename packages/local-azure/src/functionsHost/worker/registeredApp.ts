import type { FunctionCallback, FunctionMetadata, LogLevel, ProgrammingModel } from '../coreTypes.ts';

export const hookNames = ['appStart', 'appTerminate', 'preInvocation', 'postInvocation'] as const;
export type HookName = (typeof hookNames)[number];
export type HookCallback = (context: object) => unknown;

export interface RegisteredFunction {
  metadata: FunctionMetadata;
  callback: FunctionCallback;
}

/**
 * Functions and hooks that the app has registered so far. The programming model registers through a module,
 * and a process has only one instance of it: a second app needs a second process.
 */
export const registeredApp = {
  functions: new Map<string, RegisteredFunction>(),
  hooks: new Map<HookName, Set<HookCallback>>(hookNames.map((name) => [name, new Set()])),
  programmingModel: undefined as ProgrammingModel | undefined,
  /** `context.appHookData` of every hook. */
  appHookData: {} as Record<string, unknown>,
  /** `context.hookData` of the app hooks, appStart and appTerminate. */
  appOnlyHookData: {} as Record<string, unknown>,
  /** Set once the app is loaded; nothing can be registered after that. */
  locked: false,
  log: (level: LogLevel, message: string): void => {
    if (level !== 'trace' && level !== 'debug') console.error(message);
  },
};

/** Runs the hooks one by one in registration order. A hook that throws stops the rest. */
export async function runHooks(name: HookName, context: object): Promise<void> {
  for (const hook of registeredApp.hooks.get(name) ?? []) await hook(context);
}
