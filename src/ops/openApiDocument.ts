import { z } from 'zod';
import { problemAnswer } from './answers/common.ts';
import { type Answer, type Call, tags } from './call.ts';
import { longestKey } from './requests.ts';

/** Statuses that any call may answer; 401 comes from the platform, without a body. */
const always = {
  400: 'Wrong values: each is named',
  403: 'The caller lacks the app role, or another site sends the request',
  503: 'A process of a newer release can do it: ask again',
};

const whyProblem: Readonly<Record<number, string>> = {
  ...always,
  404: 'There is no such thing',
  409: 'Its state does not allow this, or the Idempotency-Key stands for another request: the detail says which',
  413: 'The body is too large, or the answer would be',
  415: 'The body has another type than this call takes',
  500: 'The stored data contradicts itself',
  501: 'The store of locks that LOCKS names cannot do this',
};

const problemRef = {
  'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
};

/** The OpenAPI 3.1 description (https://spec.openapis.org/oas/v3.1.1) of these calls. Pure. */
export function openApiDocument({
  calls,
  version,
}: {
  calls: Readonly<Record<string, Call>>;
  version: string;
}) {
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

function described(id: string, call: Call) {
  const { route, tag, summary, query, idempotencyKey, mayBeEmpty, answer, problems = [] } = call;
  const body = call.upload ?? (call.body && { json: call.body });
  const parameters = [
    ...(route.includes('{id}')
      ? [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }]
      : []),
    ...(query === undefined ? [] : queryParameters(query)),
    ...(idempotencyKey === undefined
      ? []
      : [
          {
            name: 'Idempotency-Key',
            in: 'header',
            required: idempotencyKey === 'required',
            description: 'The same key stands for the same request, however often it is sent',
            schema: { type: 'string', minLength: 1, maxLength: longestKey },
          },
        ]),
  ];
  const refusals = Object.entries({
    ...always,
    ...(body === undefined ? {} : { 415: '' }),
    ...Object.fromEntries(problems.map((status) => [status, ''])),
  });
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: mayBeEmpty !== true,
            content: contentOf(body),
          },
        }),
    responses: {
      [answer.status ?? 200]: response(summary, answer),
      ...Object.fromEntries(
        refusals.map(([status]) => [
          status,
          { description: whyProblem[Number(status)] ?? 'A problem', content: problemRef },
        ]),
      ),
      401: { description: 'No valid key' },
      ...Object.fromEntries(
        Object.entries(answer.also ?? {}).map(([status, why]) => [status, response(why, answer)]),
      ),
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
    ...(headers.length === 0 ? {} : { headers: Object.fromEntries(headers) as object }),
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
