type Sources = ReadonlyMap<string, string>;

/** Settings that the code reads and infra/ does not set, each with the reason. */
const notSet: Record<string, string> = {
  AzureWebJobsStorage: 'a connection string: the app uses its identity',
  Cosmos: 'a connection string: the app uses its identity',
  ServiceBus: 'a connection string: the app uses its identity',
  AzureWebJobsStorage__blobServiceUri: 'derived from accountName',
  AzureWebJobsStorage__queueServiceUri: 'derived from accountName',
  INSTANCE_ID: 'the platform names the instances',
  WEBSITE_INSTANCE_ID: 'set by the platform',
  WEBSITE_AUTH_ENABLED: 'set by the platform',
  WEBSITE_SITE_NAME: 'set by the platform',
  CONTAINER_NAME: 'set by the platform',
  OTEL_EXPORTER_OTLP_ENDPOINT: 'a second receiver of traces: none by default',
};

/** Settings that infra/ sets for the Functions host alone. */
const forHost = ['FUNCTIONS_REQUEST_BODY_SIZE_LIMIT', 'OTEL_TRACES_SAMPLER', 'OTEL_TRACES_SAMPLER_ARG'];

/** Settings that infra/ lacks (`missing`), that the code never reads (`unread`), and idle reasons (`idle`). */
export function settingDifferences(sources: Sources, set: Iterable<string>) {
  const read = settingsIn(sources);
  const given = [...set];
  return {
    missing: read.filter((name) => !given.includes(name) && !(name in notSet)),
    unread: given.filter((name) => !read.includes(name) && !forHost.includes(name)),
    idle: Object.keys(notSet).filter((name) => !read.includes(name)),
  };
}

/** Names of all settings that the code reads: in capitals, or the two forms of a connection. */
function settingsIn(sources: Sources): string[] {
  const text = [...sources]
    .filter(([path]) => path.startsWith('src/settings/') || path === 'src/payonce.ts')
    .map(([, source]) => withoutComments(source))
    .join('\n');
  const names = [
    // Schema keys, environment members and quoted names, but not words inside messages.
    ...text.matchAll(/(?:^|[\s{(,.])([A-Z][A-Z\d]+(?:_[A-Z\d]+)*)(?=\s*[:,})\]]|\s*\?\?|;|\s*$)/gm),
    ...text.matchAll(/'([A-Z][A-Z\d]+(?:_[A-Z\d]+)+)'/g),
    ...text.matchAll(/\benv\.(\w+)/g),
  ].map((match) => match[1] ?? '');
  const prefixes = [...text.matchAll(/prefix: '(\w+)'/g)].map((match) => match[1] ?? '');
  const ends = ['credential', 'clientId'].filter((end) => text.includes(`__${end}\``));
  const forms = prefixes.flatMap((prefix) => [prefix, ...ends.map((end) => `${prefix}__${end}`)]);
  return [...new Set([...names, ...forms])].filter((name) => !['URL', 'NEVER'].includes(name)).sort();
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
}
