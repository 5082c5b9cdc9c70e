import { type Node, parts } from './parseBicep.ts';
import { type BicepFile, propertiesOf } from './readBicep.ts';

/** Bicep functions and namespaces that infra/ uses (https://learn.microsoft.com/azure/azure-resource-manager/bicep/bicep-functions). */
const builtIn = new Set(
  `concat cidrSubnet contains dateTimeAdd dateTimeToEpoch empty environment filter guid int items loadJsonContent map readEnvironmentVariable
  replace resourceGroup split string subscription subscriptionResourceId tenant toLower union uniqueString utcNow`.split(
    /\s+/,
  ),
);

/** Names that are used but not declared, and names that are declared but not used. */
export function checkSymbols(file: BicepFile): string[] {
  const declared = new Set(
    [file.params, file.vars, file.resources, file.modules].flatMap((names) => [...names.keys()]),
  );
  const used = new Set<string>();
  const problems: string[] = [];

  function visit(node: Node, local: ReadonlySet<string>): void {
    if (node.type === 'decorators') return;
    if (node.type === 'identifier') {
      used.add(node.text);
      if (!declared.has(node.text) && !builtIn.has(node.text) && !local.has(node.text))
        problems.push(`${file.file}:${node.startPosition.row + 1} ${node.text} is not declared`);
      return;
    }
    const children = parts(node);
    if (node.type.endsWith('_declaration')) {
      for (const child of children.slice(1)) visit(child, local);
    } else if (node.type === 'object_property') {
      const [key, ...value] = children;
      if (key?.type === 'string') visit(key, local);
      for (const child of value) visit(child, local);
    } else if (node.type === 'for_statement' || node.type === 'lambda_expression') {
      const [variables, ...others] = children;
      const names = variables === undefined ? [] : [variables, ...parts(variables)].map(({ text }) => text);
      for (const child of others) visit(child, new Set([...local, ...names]));
    } else {
      for (const child of children) visit(child, local);
    }
  }
  visit(file.root, new Set());

  for (const name of [...file.params.keys(), ...file.vars.keys()]) {
    if (!used.has(name)) problems.push(`${file.file}: ${name} is declared but not used`);
  }
  return problems;
}

/** Module arguments that are unknown or missing, and outputs that do not exist. */
export function checkModules(file: BicepFile, read: (path: string) => BicepFile): string[] {
  const problems: string[] = [];
  for (const { name, type, body } of file.modules.values()) {
    const target = read(type);
    const params = propertiesOf(body).get('params');
    const given = new Set(params === undefined ? [] : propertiesOf(params).keys());
    for (const argument of given)
      if (!target.params.has(argument)) problems.push(`${name}: ${type} has no parameter ${argument}`);
    for (const [param, { value }] of target.params)
      if (value === undefined && !given.has(param)) problems.push(`${name}: ${type} requires ${param}`);
    for (const [, output = ''] of file.root.text.matchAll(new RegExp(`\\b${name}!?\\.outputs\\.(\\w+)`, 'g')))
      if (!target.outputs.has(output)) problems.push(`${name}: ${type} has no output ${output}`);
  }
  return problems;
}
