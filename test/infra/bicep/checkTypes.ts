import { type Node, parts } from './parseBicep.ts';
import { type BicepFile, type DeclaredResource, propertiesOf } from './readBicep.ts';
import type { Schema, Shape } from './schemas.ts';

/** Properties that every resource accepts, whatever its type. */
const common = new Set(['parent', 'scope', 'dependsOn']);

/** Properties that are unknown to the resource's type, required but missing, or of the wrong value. */
export function checkTypes(file: BicepFile, schemas: ReadonlyMap<string, Schema>): string[] {
  return [...file.resources.values()]
    .filter(({ existing }) => !existing)
    .flatMap((resource) => {
      const schema = schemas.get(resource.type);
      if (schema === undefined) return [`${file.file}: no schema for ${resource.type}: run schemas/renew.ts`];
      return checkResource(resource, schema).map((problem) => `${file.file}: ${resource.name}${problem}`);
    });
}

function checkResource(resource: DeclaredResource, { body, types }: Schema): string[] {
  return checkObject(resource.body, body, '', true);

  function checkObject(node: Node, shapes: readonly Shape[], path: string, top: boolean): string[] {
    const properties = propertiesOf(node);
    const fits = shapes.find((shape) => literalsFit(properties, shape, types)) ?? shapes[0];
    if (fits === undefined) return [];
    const problems: string[] = [];
    for (const [name, value] of properties) {
      const type = fits.properties[name] ?? fits.additional;
      if (top && common.has(name)) continue;
      if (type === undefined)
        problems.push(`${path}.${name} (line ${value.startPosition.row + 1}) is not a property`);
      else problems.push(...checkValue(value, type, `${path}.${name}`));
    }
    for (const name of fits.required ?? [])
      if (!properties.has(name)) problems.push(`${path}.${name} is missing`);
    return problems;
  }

  function checkValue(node: Node, type: string, path: string): string[] {
    if (type === 'any') return [];
    if (node.type === 'ternary_expression')
      return (['consequence', 'alternative'] as const).flatMap((side) => {
        const branch = node.childForFieldName(side);
        return branch === null ? [] : checkValue(branch, type, path);
      });
    const element = /^(.*)\[\]$/.exec(type)?.[1]?.replace(/^\((.*)\)$/, '$1');
    if (node.type === 'array') {
      if (element === undefined) return [`${path} is a list, expected ${type}`];
      return parts(node).flatMap((part, index) => checkValue(part, element, `${path}[${index}]`));
    }
    if (node.type === 'for_statement') {
      const body = node.childForFieldName('body');
      return element === undefined || body === null ? [] : checkValue(body, element, `${path}[]`);
    }
    if (node.type === 'call_expression' && node.text.startsWith('map(')) {
      const lambda = parts(node.childForFieldName('arguments') ?? node)[1];
      const body = lambda === undefined ? undefined : parts(lambda)[1];
      return element === undefined || body === undefined ? [] : checkValue(body, element, `${path}[]`);
    }
    if (node.type === 'object') {
      const shapes = types[type];
      return shapes === undefined
        ? [`${path} is an object, expected ${type}`]
        : checkObject(node, shapes, path, false);
    }
    return checkScalar(node, type, path, types);
  }
}

/** True if the shape's literals (`name: 'authsettingsV2'`, `type: 'Continuous'`) match the given values. */
function literalsFit(properties: ReadonlyMap<string, Node>, shape: Shape, types: Schema['types']): boolean {
  return Object.entries(shape.properties).every(([name, type]) => {
    const given = properties.get(name);
    return given?.type !== 'string' || !isLiteral(type, types) || given.text === `'${type}'`;
  });
}

function checkScalar(node: Node, type: string, path: string, types: Schema['types']): string[] {
  const choices = type.split(' | ');
  const wrong = [`${path} is ${node.text.slice(0, 40)}, expected ${type}`];
  if (node.type === 'number') return choices.some((choice) => choice === 'int') ? [] : wrong;
  if (node.type === 'boolean') return choices.includes('bool') || choices.includes(node.text) ? [] : wrong;
  if (node.type !== 'string' || parts(node).some((part) => part.type === 'interpolation')) return [];
  if (choices.includes('string')) return [];
  const fits =
    choices.every((choice) => isLiteral(choice, types)) &&
    ` | ${type} | `.includes(` | ${node.text.slice(1, -1)} | `);
  return fits ? [] : wrong;
}

function isLiteral(type: string, types: Schema['types']): boolean {
  return (
    !['string', 'int', 'bool', 'any', 'object', 'null'].includes(type) &&
    types[type] === undefined &&
    !type.endsWith('[]')
  );
}
