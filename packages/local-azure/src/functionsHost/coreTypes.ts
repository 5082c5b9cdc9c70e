/**
 * The part of the contract between `@azure/functions` and the Node worker that this host uses. Full
 * declaration: https://github.com/Azure/azure-functions-nodejs-worker/blob/v3.x/types-core/index.d.ts.
 */

import type { TraceContext } from './traceContext.ts';

export type LogLevel = 'trace' | 'debug' | 'information' | 'warning' | 'error' | 'critical' | 'none';

/** A value passed between host and function; exactly one member is set. */
export interface TypedData {
  string?: string;
  json?: string;
  bytes?: Uint8Array;
  int?: number;
  double?: number;
  http?: HttpData;
  collectionString?: { string: string[] };
  collectionBytes?: { bytes: Uint8Array[] };
}

export interface HttpData {
  method?: string;
  url?: string;
  headers?: Record<string, string>;
  params?: Record<string, string>;
  query?: Record<string, string>;
  body?: TypedData | null;
  statusCode?: string;
  cookies?: HttpCookie[];
}

export interface HttpCookie {
  name: string;
  value: string;
  domain?: { value: string };
  path?: { value: string };
  expires?: { value: { seconds: number } };
  secure?: { value: boolean };
  httpOnly?: { value: boolean };
  sameSite?: 'none' | 'lax' | 'strict' | 'explicitNone';
  maxAge?: { value: number };
}

/** A binding as the function declared it; further members depend on the type. */
export interface Binding {
  type: string;
  direction: 'in' | 'out';
  [option: string]: unknown;
}

export interface FunctionMetadata {
  name: string;
  bindings: Record<string, Binding>;
  retryOptions?: unknown;
}

export type FunctionCallback = (...args: unknown[]) => unknown;

export interface InvocationRequest {
  inputData: { name: string; data: TypedData }[];
  triggerMetadata: Record<string, TypedData>;
  traceContext: TraceContext;
  /** Of a function with a retry policy, from its first retry on. */
  retryContext?: { retryCount: number; maxRetryCount: number };
}

export interface CoreInvocationContext {
  invocationId: string;
  request: InvocationRequest;
  metadata: FunctionMetadata;
  state?: 'preInvocationHooks' | 'invocation' | 'postInvocationHooks' | undefined;
  log(level: LogLevel, category: string, message: string): void;
}

export interface InvocationResponse {
  returnValue?: TypedData | null;
  /** Extra outputs that the function has set. */
  outputData?: { name: string; data: TypedData }[];
}

export interface InvocationModel {
  getArguments(): Promise<{ context: unknown; inputs: unknown[] }>;
  invokeFunction(context: unknown, inputs: unknown[], callback: FunctionCallback): Promise<unknown>;
  getResponse(context: unknown, result: unknown): Promise<InvocationResponse>;
}

export interface ProgrammingModel {
  name: string;
  version: string;
  getInvocationModel(context: CoreInvocationContext): InvocationModel | Promise<InvocationModel>;
  getCapabilities?(defaults: Record<string, string>): Promise<Record<string, string>>;
}
