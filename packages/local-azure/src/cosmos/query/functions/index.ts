import type { DatabaseSync } from 'node:sqlite';
import type { Expression } from '../ast.ts';
import { ofJson, type TypedSql } from '../compile/typedSql.ts';
import { BadQuery, UnsupportedQuery } from '../errors.ts';
import { registerVisited } from '../visited.ts';
import { arrayContains, arrayFunctions } from './arrays.ts';
import { dateFunctions } from './dates.ts';
import { argumentSql, type FunctionTable, type ScalarFunction, scalar } from './definition.ts';
import { canonical } from './json.ts';
import { mathFunctions } from './math.ts';
import { like } from './patterns.ts';
import { stringFunctions } from './strings.ts';
import { typeFunctions } from './types.ts';

/** Every supported function, by name in capitals. */
const FUNCTIONS: FunctionTable = {
  ...stringFunctions,
  ...mathFunctions,
  ...dateFunctions,
  ...arrayFunctions,
  ...typeFunctions,
};

/** Functions of the service that are not supported. */
const MISSING = new Set(
  `ST_AREA ST_DISTANCE ST_INTERSECTS ST_ISVALID ST_ISVALIDDETAILED ST_WITHIN VECTORDISTANCE MAKELIST MAKESET FULLTEXTCONTAINS
   FULLTEXTCONTAINSALL FULLTEXTCONTAINSANY FULLTEXTSCORE RRF DATETIMEBIN DOCUMENTID CHOOSE NUMBERBIN ARRAY_AVG
   ARRAY_MAX ARRAY_MEDIAN ARRAY_MIN ARRAY_SUM LASTSUBSTRINGAFTER LASTSUBSTRINGBEFORE SUBSTRINGAFTER
   SUBSTRINGBEFORE LASTINDEXOF`.split(/\s+/),
);

/**
 * Compiles a function call to SQL.
 *
 * @throws {BadQuery} for an unknown name or a wrong number of arguments
 * @throws {UnsupportedQuery} for a function of the service that is not supported
 */
export function callFunction(
  call: Expression & { kind: 'call' },
  compileArg: (arg: Expression) => TypedSql,
): TypedSql {
  const name = call.name.toUpperCase();
  const called = Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name] : undefined;
  if (called === undefined) {
    if (MISSING.has(name)) throw new UnsupportedQuery(`the function ${name}`);
    throw new BadQuery(`'${call.name}' is not a recognized built-in function name.`, call.at, 'SC2005');
  }
  // Only now: an argument may be refused for being no aggregate, which a function that is missing here could be.
  const args = call.args.map(compileArg);
  const most = called.kind === 'inline' ? called.most : called.variadic ? Infinity : called.parameters.length;
  if (args.length < called.required || args.length > most) {
    const range = called.required === most ? String(most) : `${called.required} to ${most}`;
    throw new BadQuery(`The ${name} function requires ${range} argument(s).`, call.at, 'SC2050');
  }
  return called.kind === 'inline' ? called.compile(args) : callScalar(sqlName(name), called, args);
}

function callScalar(name: string, called: ScalarFunction, args: readonly TypedSql[]): TypedSql {
  const texts = args.map((arg, index) => argumentSql(parameterAt(called, index), arg));
  const sql = `${name}(${texts.join(', ')})`;
  return called.result === 'any' ? ofJson(sql) : { kind: called.result, sql };
}

function parameterAt(called: ScalarFunction, index: number): ScalarFunction['parameters'][number] {
  return called.parameters[index] ?? called.parameters.at(-1) ?? 'any';
}

function sqlName(name: string): string {
  return `cosmos_${name.toLowerCase()}`;
}

const CONNECTIONS = new WeakSet<DatabaseSync>();

/** Registers the functions that SQLite lacks, once per connection. */
export function registerFunctions(db: DatabaseSync): void {
  if (CONNECTIONS.has(db)) return;
  CONNECTIONS.add(db);
  for (const [name, fn] of Object.entries(FUNCTIONS)) {
    if (fn.kind === 'scalar') register(db, sqlName(name), fn, name !== 'RAND');
  }
  registerVisited(db);
  register(db, 'cosmos_array_contains', arrayContains);
  register(db, 'cosmos_like', scalar(['string', 'string', 'string'], 'boolean', like));
  register(db, 'cosmos_canonical', scalar(['any'], 'string', canonical));
  register(
    db,
    'cosmos_unsigned_shift',
    scalar(['number', 'number'], 'number', (value, by) => value >>> by),
  );
}

function register(db: DatabaseSync, name: string, fn: ScalarFunction, deterministic = true): void {
  // An undefined argument, NULL here, makes every function undefined. Integers arrive as bigints.
  const call = (...args: unknown[]): string | number | null => {
    if (args.includes(null)) return null;
    const given = args.map((arg, index) => received(arg, parameterAt(fn, index)));
    return returned((fn.body as (...args: unknown[]) => unknown)(...given), fn.result);
  };
  db.function(name, { deterministic, varargs: true, useBigIntArguments: true }, call);
}

function received(arg: unknown, kind: ScalarFunction['parameters'][number]): unknown {
  if (kind === 'number') return Number(arg);
  if (kind === 'boolean') return Boolean(arg);
  return kind === 'string' ? arg : JSON.parse(String(arg));
}

function returned(value: unknown, kind: ScalarFunction['result']): string | number | null {
  if (value === undefined || (typeof value === 'number' && !Number.isFinite(value))) return null;
  if (typeof value === 'boolean' && kind === 'boolean') return value ? 1 : 0;
  if (typeof value === 'number' && kind === 'number') return value;
  if (typeof value === 'string' && kind === 'string') return value;
  return JSON.stringify(value);
}
