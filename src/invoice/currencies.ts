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
