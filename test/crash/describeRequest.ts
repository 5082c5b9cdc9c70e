/**
 * An HTTP request seen by a tap. The functions below name it by service, operation and subject, without invoice ids or
 * other ids, so that the same step has the same name in every trial. They return undefined for requests of the platform
 * (task hub, the host's timers), which are not part of a payment.
 */
export interface HttpExchange {
  method: string;
  /** Path and query. */
  path: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: Buffer;
}

interface PatchStep {
  op: string;
  path: string;
  value?: unknown;
}

interface BatchOperation {
  operationType: string;
  resourceBody?: { type?: string; destination?: string; operations?: PatchStep[] };
}

export function describeCosmos({ method, path, headers, body }: HttpExchange): string | undefined {
  const [, container = '', item] = /^\/dbs\/payonce\/colls\/([^/]+)\/docs(?:\/([^/?]+))?/.exec(path) ?? [];
  if (container === '') return undefined;
  if (headers['x-ms-cosmos-is-query-plan-request'] !== undefined) return `Cosmos: query plan, ${container}`;
  if (headers['x-ms-cosmos-is-batch-request'] !== undefined) {
    return `Cosmos: ${describeBatch(JSON.parse(body.toString()) as BatchOperation[])}`;
  }
  if (isQuery(headers)) return isFigure(body) ? undefined : `Cosmos: query ${container}${queried(body)}`;
  // The gauges of each sweep read the schedules too, so the number of these reads differs from trial to trial.
  if (container === 'pace' && method === 'GET') return undefined;
  const operation = { GET: 'read', PUT: 'replace', PATCH: 'patch', DELETE: 'delete' }[method] ?? 'create';
  const kind =
    operation === 'create' ? kindOf(body) : item?.startsWith(':fence') === true ? 'fence' : undefined;
  return `Cosmos: ${operation} in ${container}${kind === undefined ? '' : ` (${kind})`}`;
}

/** Fences and the deployment document carry a `type`. */
function kindOf(body: Buffer): string | undefined {
  const { type } = JSON.parse(body.toString()) as { type?: string };
  return type;
}

function isQuery(headers: HttpExchange['headers']): boolean {
  return (
    headers['x-ms-documentdb-isquery'] !== undefined ||
    `${String(headers['content-type'])}`.startsWith('application/query+json')
  );
}

/**
 * Counts and the like, for gauges and for the room for claims: how many there are depends on time, and they change nothing. Over
 * several partition key ranges the SDK asks each for its part, an `item`.
 */
function isFigure(body: Buffer): boolean {
  return /SELECT VALUE (\[\{\\"item\\": (\{\\"\w+\\": )?)?(COUNT|MIN)\b/.test(body.toString());
}

function queried(body: Buffer): string {
  const text = body.toString();
  if (text.includes('actionableAt <=')) return ' (due)';
  if (text.includes('nextAttemptAt <=')) return ' (undispatched)';
  return text.includes('c.id IN') ? ' (by id)' : '';
}

/** Infers a transaction's purpose from its operations. */
function describeBatch(operations: readonly BatchOperation[]): string {
  const created = operations.flatMap(({ operationType, resourceBody }) =>
    operationType === 'Create' ? [resourceBody?.destination ?? resourceBody?.type ?? 'item'] : [],
  );
  const steps = operations.flatMap(({ resourceBody }) => resourceBody?.operations ?? []);
  const sets = (path: string, value?: string) =>
    steps.some((step) => step.path === path && (value === undefined || step.value === value));
  if (created.includes('payment-commands')) return 'claim + outbox message';
  if (steps.some(({ value }) => isEntry(value, 'called again'))) return 'start of calls again';
  if (sets('/claim/phase', 'claimed')) return 'return of what was not called';
  if (sets('/claim/phase')) return 'start of the batch';
  if (sets('/status', 'dispatched')) return 'mark dispatched';
  if (sets('/lastError')) return 'mark not dispatched';
  if (sets('/status', 'voided')) return 'void';
  if (steps.some(({ value }) => isEntry(value, 'retried'))) return 'retry by a person';
  if (sets('/status', 'paid')) return `settlement${created.length > 0 ? ' + outbox message' : ''}`;
  if (sets('/status', 'declined')) return 'settlement (declined)';
  if (sets('/status', 'pending')) return 'settlement (retry)';
  if (sets('/reversals')) return `record of a refund${created.length > 0 ? ' + outbox message' : ''}`;
  if (created.includes('providerAccount')) return 'creation of the account record';
  if (created.includes('invoice')) return 'import of invoices';
  if (created.includes('deployment')) return 'creation of the deployment record';
  if (created.includes('fence')) return 'creation of a fence';
  return `batch of ${[...new Set(operations.map(({ operationType }) => operationType))].join(', ')}`;
}

/** True if a value is the timeline entry of this kind of change. */
function isEntry(value: unknown, what: string): boolean {
  return typeof value === 'object' && value !== null && 'what' in value && value.what === what;
}

export function describePayments({ method, path }: HttpExchange): string {
  const what = path.replace(/\?.*/, '').replace(/pi_\w+/, '{id}');
  return `payments: ${method === 'POST' && what === '/v1/payment_intents' ? 'charge' : `${method} ${what}`}`;
}

export function describeBlob({ method, path, headers }: HttpExchange): string | undefined {
  const { pathname, searchParams } = new URL(path, 'http://x');
  const [, , container = '', ...name] = pathname.split('/');
  if (container === 'receipts') return `blob: ${method} receipt`;
  if (container !== 'locks') return undefined;
  const lock = decodeURIComponent(name.join('/'));
  const of = lock === '' ? 'locks' : `lock ${kindOfLock(lock)}`;
  const action = headers['x-ms-lease-action'];
  if (typeof action === 'string') return `blob: ${action} ${of}`;
  if (searchParams.get('comp') === 'metadata') return `blob: raise the fence of ${of}`;
  return `blob: ${{ HEAD: 'look at', GET: 'read', PUT: 'create' }[method] ?? method} ${of}`;
}

function kindOfLock(lock: string): string {
  if (lock.includes('sweep-outbox')) return 'of the sweeper';
  if (lock.includes('track-payments')) return 'of the tracker';
  return lock.includes('process-invoices') ? 'of the group' : 'of the work item';
}

export function describeQueue({ method, path }: HttpExchange): string | undefined {
  const { queue, message } = queuePath(path);
  if (queue !== 'work-items' && queue !== 'work-items-poison') return undefined;
  if (method === 'POST') return `queue ${queue}: send`;
  if (method === 'DELETE' && message !== undefined) return `queue ${queue}: delete`;
  return method === 'PUT' && message !== undefined ? `queue ${queue}: put back` : undefined;
}

/** A poll that finds nothing is not a step of a payment, so only the answer tells whether a message was received. */
export function describeReceived({ method, path }: HttpExchange, answer: Buffer): string | undefined {
  const { queue, message } = queuePath(path);
  if (method !== 'GET' || queue !== 'work-items' || message !== undefined) return undefined;
  return answer.includes('<QueueMessage>') ? 'queue work-items: message handed out' : undefined;
}

function queuePath(path: string): { queue: string; message: string | undefined } {
  const [, , queue = '', , message] = new URL(path, 'http://x').pathname.split('/');
  return { queue, message };
}
