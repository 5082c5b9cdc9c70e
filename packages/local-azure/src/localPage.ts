/** The page `/_local/` of Cosmos and of Service Bus: it shows what is in the service that serves it, by its JSON. */
export const localPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>local-azure</title>
<style>
  :root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif; }
  body { margin: 0 auto; max-width: 70rem; padding: 1rem; }
  h1 { font-size: 1.3rem; }
  h2 { font-size: 1.05rem; margin: 1.5rem 0 .4rem; }
  table { border-collapse: collapse; width: 100%; }
  th, td { text-align: left; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid #8884; }
  td.n { font-variant-numeric: tabular-nums; }
  textarea, select, button { font: inherit; }
  textarea { width: 100%; box-sizing: border-box; font-family: ui-monospace, monospace; }
  pre { background: #8881; padding: .6rem; overflow: auto; max-height: 30rem; white-space: pre-wrap; }
  [role=alert] { color: #c22; }
</style>
<h1>local-azure: <span id="kind"></span></h1>
<p><output id="rate"></output></p>
<main></main>
<h2>Faults</h2>
<label for="fault">As JSON</label>
<textarea id="fault" rows="2"></textarea>
<p><button id="arm">Arm</button> <button id="clear">Clear all</button></p>
<pre id="faults"></pre>
<p role="alert" id="problem"></p>
<script type="module">
const byId = (id) => document.getElementById(id);
const main = document.querySelector('main');

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

async function call(path, body, method = body === undefined ? 'GET' : 'POST') {
  const answer = await fetch(path, { method, ...(body === undefined ? {} : { body }) });
  const text = await answer.text();
  const value = text === '' ? undefined : JSON.parse(text);
  if (!answer.ok) throw new Error(value?.message ?? value?.error ?? answer.statusText);
  return value;
}

function safely(work) {
  return async (...values) => {
    byId('problem').textContent = '';
    try { await work(...values); } catch (error) { byId('problem').textContent = error.message; }
  };
}

function table(columns, rows) {
  const cell = (name, value) =>
    element(name, { className: typeof value === 'number' ? 'n' : '' }, value instanceof Node ? value : String(value));
  return element('table', {},
    element('thead', {}, element('tr', {}, ...columns.map((column) => element('th', {}, column)))),
    element('tbody', {}, ...rows.map((row) => element('tr', {}, ...row.map((value) => cell('td', value))))));
}

const pretty = (value) => JSON.stringify(value, null, 2);

async function cosmos() {
  byId('kind').textContent = 'Cosmos DB';
  byId('fault').value = '{ "kind": "429", "count": 3 }';
  const list = element('div');
  const containers = element('select', { id: 'container' });
  const query = element('textarea', { id: 'query', rows: 3, value: 'SELECT TOP 50 * FROM c' });
  const result = element('pre', { id: 'result' });
  const run = safely(async () => {
    const { database, container } = JSON.parse(containers.value);
    result.textContent = pretty((await call('/_local/query', JSON.stringify({ database, container, query: query.value }))).items);
  });
  main.append(
    element('h2', {}, 'Containers'), list,
    element('h2', {}, 'Query'),
    element('p', {}, element('label', {}, 'Container ', containers)),
    element('label', { htmlFor: 'query' }, 'SQL'), query,
    element('p', {}, element('button', { id: 'run', onclick: run }, 'Run')), result);
  return async (stats) => {
    const databases = await call('/_local/databases');
    const rows = databases.flatMap(({ id, containers: own }) =>
      own.map((container) => [id, container.id, container.partitionKey.join(', '), container.items]));
    list.replaceChildren(table(['database', 'container', 'partition key', 'items'], rows));
    const options = rows.map(([database, container]) => JSON.stringify({ database, container }));
    if (options.join() !== [...containers.options].map(({ value }) => value).join())
      containers.replaceChildren(...rows.map(([database, container], at) =>
        element('option', { value: options[at] }, database + ' / ' + container)));
    return stats.requests + stats.metadata.requests;
  };
}

async function serviceBus() {
  byId('kind').textContent = 'Service Bus';
  byId('fault').value = '{ "kind": "refuse", "operation": "send" }';
  const list = element('div');
  const shown = element('pre', { id: 'messages' });
  const heading = element('h2', {}, 'Messages');
  const show = safely(async (entity) => {
    heading.textContent = 'Messages of ' + entity;
    shown.textContent = pretty(await call('/_local/messages?entity=' + encodeURIComponent(entity)));
  });
  main.append(element('h2', {}, 'Queues, topics and subscriptions'), list, heading, shown);
  return async ({ queues }) => {
    const button = (text, entity) => element('button', { onclick: () => show(entity) }, text);
    list.replaceChildren(table(
      ['entity', 'active', 'locked', 'scheduled', 'deferred', 'dead letters', 'sent', 'completed'],
      Object.entries(queues).map(([name, counts]) => [
        button(name, name), counts.active, counts.locked, counts.scheduled, counts.deferred,
        button(String(counts.deadLettered), name + '/$DeadLetterQueue'), counts.sent, counts.completed,
      ])));
    return Object.values(queues).reduce((sum, { sent, received }) => sum + sent + received, 0);
  };
}

const isCosmos = 'byContainer' in (await call('/_local/stats'));
const refresh = await (isCosmos ? cosmos : serviceBus)();
let before;
const update = async () => {
  const at = performance.now();
  const total = await refresh(await call('/_local/stats'));
  byId('faults').textContent = pretty(await call('/_local/faults'));
  if (before !== undefined) {
    const rate = Math.max(0, (total - before.total) / ((at - before.at) / 1000));
    byId('rate').textContent = rate.toFixed(1) + (isCosmos ? ' requests a second' : ' messages a second, in and out');
  }
  before = { total, at };
};
byId('arm').onclick = safely(async () => { await call('/_local/faults', byId('fault').value); await update(); });
byId('clear').onclick = safely(async () => { await call('/_local/faults', undefined, 'DELETE'); await update(); });
await safely(update)();
setInterval(() => update().catch(() => {}), 2000);
</script>
</html>
`;
