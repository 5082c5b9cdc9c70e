import { z } from 'zod';
import { problemAnswer } from './answers/common.ts';
import { type Answer, type Call, type CallParts, tags } from './call.ts';
import { longestKey } from './requests.ts';

/** Any call may answer 400, 403 and 503; 401 comes from the platform, without a body. */
const whyProblem = {
  400: 'Wrong values: each is named',
  403: 'The caller lacks the app role, or another site sends the request',
  503: 'A process of a newer release can do it: ask again',
  404: 'There is no such thing',
  409: 'Its state does not allow this, or the Idempotency-Key stands for another request: the detail says which',
  413: 'The body is too large, or the answer would be',
  415: 'The body has another type than this call takes',
  500: 'The stored data contradicts itself',
  501: 'The store of locks that LOCKS names cannot do this',
};

const problemRef = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } };

/** The OpenAPI 3.1 description (https://spec.openapis.org/oas/v3.1.1) of these calls. Pure. */
export function openApiDocument({ calls, version }: Pick<CallParts, 'calls' | 'version'>) {
  const paths: Record<string, Record<string, ReturnType<typeof described>>> = {};
  for (const [id, call] of Object.entries(calls)) {
    const path = `/${call.route}`;
    paths[path] = { ...paths[path], [call.method.toLowerCase()]: described(id, call) };
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'payonce operations',
      version,
      summary: 'See what was paid and what is stuck, and act on it.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/api' }],
    security: [{ functionKey: [] }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: { functionKey: { type: 'apiKey', in: 'header', name: 'x-functions-key' } },
      schemas: { Problem: jsonSchema(problemAnswer) },
    },
  };
}

/** JSON leaves out what is undefined. */
function described(id: string, call: Call) {
  const { route, tag, summary, query, idempotencyKey, mayBeEmpty, answer, problems = [] } = call;
  const body = call.upload ?? (call.body && { json: call.body });
  const inPath = { name: 'id', in: 'path', required: true, schema: { type: 'string' } };
  const key = {
    name: 'Idempotency-Key',
    in: 'header',
    required: idempotencyKey === 'required',
    description: 'The same key stands for the same request, however often it is sent',
    schema: { type: 'string', minLength: 1, maxLength: longestKey },
  };
  const parameters = [
    ...(route.includes('{id}') ? [inPath] : []),
    ...(query === undefined ? [] : queryParameters(query)),
    ...(idempotencyKey === undefined ? [] : [key]),
  ];
  const refusals = ([400, 403, 503, ...(body ? [415 as const] : []), ...problems] as const).map((status) => [
    status,
    { description: whyProblem[status], content: problemRef },
  ]);
  const also = Object.entries(answer.also ?? {}).map(([status, why]) => [status, response(why, answer)]);
  return {
    operationId: id,
    tags: [tag],
    summary,
    parameters: parameters.length === 0 ? undefined : parameters,
    requestBody: body && { required: mayBeEmpty !== true, content: contentOf(body) },
    responses: {
      [answer.status ?? 200]: response(summary, answer),
      ...Object.fromEntries(refusals),
      401: { description: 'No valid key' },
      ...Object.fromEntries(also),
    },
  };
}

function response(description: string, answer: Answer) {
  const headers = Object.entries(answer.headers ?? {}).map(([name, says]) => [
    name,
    { description: says, schema: { type: 'string' } },
  ]);
  return {
    description,
    headers: answer.headers && Object.fromEntries(headers),
    content: contentOf(answer),
  };
}

function contentOf({ json, csv }: { json?: z.ZodType; csv?: string }) {
  return {
    ...(json === undefined ? {} : { 'application/json': { schema: jsonSchema(json) } }),
    ...(csv === undefined ? {} : { 'text/csv': { schema: { type: 'string', description: csv } } }),
  };
}

function queryParameters(query: z.ZodObject) {
  const { properties = {}, required = [] } = jsonSchema(query);
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }));
}

/** The input of a schema, before any transformation. The dialect is that of the document, so it is not repeated. */
function jsonSchema(schema: z.ZodType) {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return rest;
}
