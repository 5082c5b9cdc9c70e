import { type FunctionTable, inlineOf, scalar } from './definition.ts';

const ofNumber = (body: (value: number) => number) => scalar(['number'], 'number', body);
const ofWhole = (body: (left: bigint, right: bigint) => bigint) =>
  scalar(['number', 'number'], 'number', (left, right) => {
    if (!Number.isInteger(left) || !Number.isInteger(right)) return undefined;
    return Number(BigInt.asIntN(64, body(BigInt(left), BigInt(right))));
  });

/** NaN and infinite results are undefined: JSON has no such numbers. */
export const mathFunctions: FunctionTable = {
  ABS: inlineOf('number', 'number', (value) => `abs(${value})`),
  CEILING: ofNumber(Math.ceil),
  FLOOR: ofNumber(Math.floor),
  /** Rounds halves away from zero. */
  ROUND: scalar(
    ['number', 'number'],
    'number',
    (value, digits) => {
      const scale = 10 ** Math.trunc(digits ?? 0);
      const scaled = Math.abs(value) * scale;
      return (Math.sign(value) * Math.round(Number(scaled.toPrecision(15)))) / scale;
    },
    1,
  ),
  TRUNC: ofNumber(Math.trunc),
  SIGN: ofNumber(Math.sign),
  SQRT: ofNumber(Math.sqrt),
  SQUARE: ofNumber((value) => value * value),
  POWER: scalar(['number', 'number'], 'number', (base, exponent) => base ** exponent),
  EXP: ofNumber(Math.exp),
  LOG: scalar(
    ['number', 'number'],
    'number',
    (value, base) => (base === undefined ? Math.log(value) : Math.log(value) / Math.log(base)),
    1,
  ),
  LOG10: ofNumber(Math.log10),
  SIN: ofNumber(Math.sin),
  COS: ofNumber(Math.cos),
  TAN: ofNumber(Math.tan),
  COT: ofNumber((value) => 1 / Math.tan(value)),
  ASIN: ofNumber(Math.asin),
  ACOS: ofNumber(Math.acos),
  ATAN: ofNumber(Math.atan),
  ATN2: scalar(['number', 'number'], 'number', (y, x) => Math.atan2(y, x)),
  DEGREES: ofNumber((radians) => (radians * 180) / Math.PI),
  RADIANS: ofNumber((degrees) => (degrees * Math.PI) / 180),
  PI: scalar([], 'number', () => Math.PI),
  RAND: scalar([], 'number', () => Math.random()),
  INTADD: ofWhole((left, right) => left + right),
  INTSUB: ofWhole((left, right) => left - right),
  INTMUL: ofWhole((left, right) => left * right),
  INTDIV: ofWhole((left, right) => left / right),
  INTMOD: ofWhole((left, right) => left % right),
  INTBITAND: ofWhole((left, right) => left & right),
  INTBITOR: ofWhole((left, right) => left | right),
  INTBITXOR: ofWhole((left, right) => left ^ right),
  INTBITLEFTSHIFT: ofWhole((left, right) => left << right),
  INTBITRIGHTSHIFT: ofWhole((left, right) => left >> right),
};
