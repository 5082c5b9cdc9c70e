export type ParsedAmount = { kind: 'amount'; amountMinor: number } | { kind: 'bad'; error: string };

/**
 * Converts a decimal amount to minor units without floating point: "19.99" USD is 1999, "500" JPY is 500. The amount
 * has digits and at most one point, and no more decimals than the currency.
 */
export function parseAmount(text: string, currency: string): ParsedAmount {
  const exponent = currencyExponent(currency);
  if (exponent === undefined) return bad(`"${currency}" is not a currency`);
  const shape = amountShapeError(text);
  if (shape !== undefined) return bad(shape);
  const [units = '', decimals = ''] = text.split('.');
  if (decimals.length > exponent) {
    const most = exponent === 0 ? 'no decimals' : `at most ${exponent} decimals`;
    return bad(`expected ${most} for ${currency}, not "${shortened(text)}"`);
  }
  const amountMinor = Number(units + decimals.padEnd(exponent, '0'));
  if (!Number.isSafeInteger(amountMinor)) return bad(`"${shortened(text)}" is too large to count exactly`);
  return { kind: 'amount', amountMinor };
}

/**
 * The decimal text of an amount in minor units, with all the decimals of its currency.
 *
 * @throws RangeError if the currency is unknown or the amount is not a safe integer
 */
export function formatAmount(amountMinor: number, currency: string): string {
  const exponent = currencyExponent(currency);
  if (exponent === undefined) throw new RangeError(`"${currency}" is not a currency`);
  if (!Number.isSafeInteger(amountMinor))
    throw new RangeError(`${amountMinor} is not a number of minor units`);
  const digits = String(Math.abs(amountMinor)).padStart(exponent + 1, '0');
  const sign = amountMinor < 0 ? '-' : '';
  if (exponent === 0) return sign + digits;
  return `${sign}${digits.slice(0, -exponent)}.${digits.slice(-exponent)}`;
}

/** What is wrong with an amount in any currency, or undefined. */
export function amountShapeError(text: string): string | undefined {
  if (/^\d+(\.\d+)?$/.test(text)) return undefined;
  return `expected digits with at most one point, like 19.99${whatElse(text)}, not "${shortened(text)}"`;
}

function whatElse(text: string): string {
  if (/\s/.test(text)) return ' and no spaces';
  if (/^[+-]/.test(text)) return ' and no sign';
  if (/\d[eE][+-]?\d/.test(text)) return ' and no exponent';
  if (/[,'’_]/.test(text)) return ' and no thousands separators';
  if (/^\.|\.$/.test(text)) return ' and digits on both sides of the point';
  return '';
}

function shortened(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

function bad(error: string): ParsedAmount {
  return { kind: 'bad', error };
}

/**
 * The ISO 4217 currencies by the exponent of their minor unit: list one as published on 2026-01-01
 * (https://www.six-group.com/en/products-services/financial-information/market-reference-data/data-standards.html).
 * Codes without a minor unit (gold, XDR, XXX and the like) are left out: an invoice cannot ask for them.
 *
 * Intl will not do. Its digits are the ones CLDR displays: 0 for the forint, the rupiah and other currencies that do
 * have cents. Its list also keeps codes that ISO has withdrawn.
 */
const codesByExponent: ReadonlyMap<number, string> = new Map([
  [0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'],
  [
    2,
    `AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY
    COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS
    INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR
    MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP
    STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG`,
  ],
  [3, 'BHD IQD JOD KWD LYD OMR TND'],
  [4, 'CLF UYW'],
]);

const exponents: ReadonlyMap<string, number> = new Map(
  [...codesByExponent].flatMap(([exponent, codes]) => codes.split(/\s+/).map((code) => [code, exponent])),
);

/** The codes of all currencies that an invoice may use. */
export const currencies: readonly string[] = [...exponents.keys()].toSorted();

/** The currency's decimals: one unit is 10 to this power minor units. Undefined if the code is not a currency. */
export function currencyExponent(code: string): number | undefined {
  return exponents.get(code);
}
