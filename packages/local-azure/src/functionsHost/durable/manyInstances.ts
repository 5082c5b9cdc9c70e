/** The calls for all instances that match a filter. */
import { type ApiAnswer, type ApiOptions, type ApiRequest, notFound } from './apiCalls.ts';
import { type InstanceFilter, type RuntimeStatus, runtimeStatus } from './instances.ts';
import { shown } from './statusPayload.ts';

/** `GET instances` */
export async function list({ query, headers }: ApiRequest, { client }: ApiOptions): Promise<ApiAnswer> {
  const filter = filterOf(query);
  if (typeof filter === 'string') return { status: 400, body: { message: filter } };
  const token = headers['x-ms-continuation-token'];
  const size = Number(query.get('top') ?? 100);
  if (!Number.isInteger(size) || size < 1 || size > 1000) {
    return { status: 400, body: { message: 'top: expected a whole number from 1 to 1000' } };
  }
  const { instances, continuation } = await client.list(filter, {
    size,
    continuation: typeof token === 'string' && token !== '' ? token : undefined,
  });
  return {
    status: 200,
    ...(continuation === undefined ? {} : { headers: { 'x-ms-continuation-token': continuation } }),
    body: instances.map((one) => shown(one, query.get('showInput')?.toLowerCase() !== 'false', undefined)),
  };
}

/** `DELETE instances` */
export async function purgeAll({ query }: ApiRequest, { client }: ApiOptions): Promise<ApiAnswer> {
  const filter = filterOf(query);
  if (typeof filter === 'string') return { status: 400, body: { message: filter } };
  if (filter.createdFrom === undefined) {
    return { status: 400, body: "Please provide value for 'createdTimeFrom' parameter." };
  }
  const instancesDeleted = await client.purgeAll(filter);
  return instancesDeleted === 0 ? notFound : { status: 200, body: { instancesDeleted } };
}

/** The filter in a query, or what is wrong with it. */
function filterOf(query: URLSearchParams): InstanceFilter | string {
  const statuses: RuntimeStatus[] = [];
  for (const name of query.getAll('runtimeStatus').flatMap((text) => text.split(','))) {
    const parsed = runtimeStatus.safeParse(name);
    if (!parsed.success) return `runtimeStatus: unknown status ${JSON.stringify(name)}`;
    statuses.push(parsed.data);
  }
  const times: { createdFrom?: Date; createdTo?: Date } = {};
  for (const [member, name] of [
    ['createdFrom', 'createdTimeFrom'],
    ['createdTo', 'createdTimeTo'],
  ] as const) {
    const text = query.get(name);
    if (text === null) continue;
    const time = new Date(text);
    if (Number.isNaN(time.getTime())) return `${name}: expected a time, got ${JSON.stringify(text)}`;
    times[member] = time;
  }
  return { statuses, ...times, prefix: query.get('instanceIdPrefix') ?? undefined };
}
