/**
 * Messages between the host and its worker. The host has the listeners, the worker has the app, in a process
 * of its own: the app can crash or be killed while the listeners go on, as on the real host, where this is
 * the gRPC contract (https://github.com/Azure/azure-functions-language-worker-protobuf).
 */
import type { FunctionMetadata, InvocationRequest, InvocationResponse } from '../coreTypes.ts';

export type ToWorker =
  /** First, and once. */
  | { kind: 'load'; appDir: string; logLevel: Record<string, string> }
  | { kind: 'invoke'; invocationId: string; functionName: string; request: InvocationRequest }
  /** Run the `appTerminate` hooks, then end. */
  | { kind: 'terminate' };

export type FromWorker =
  | ({ kind: 'loaded' } & LoadedWorker)
  | { kind: 'notLoaded'; error: string }
  | { kind: 'returned'; invocationId: string; response: InvocationResponse }
  | { kind: 'threw'; invocationId: string; error: Thrown };

/** Content of the app, as a worker has loaded it. */
export interface LoadedWorker {
  /** Package name, if any. */
  name: string | undefined;
  /** Loaded entry points, relative to the app's folder. */
  files: string[];
  functions: FunctionMetadata[];
  /** Where the app takes HTTP requests itself, if it has turned streams on. */
  streamsAddress: string | undefined;
}

export interface Thrown {
  message: string;
  stack: string | undefined;
}
