import { realNow, replaceGlobals } from './engine/globals.ts';
import { simulate } from './simulate.ts';
import { planOf } from './plan/plan.ts';
replaceGlobals();
const from = Number(process.argv[2] ?? 1), n = Number(process.argv[3] ?? 1);
const trace = process.argv[4] === 'trace';
let total = 0, ev = 0;
const by: Record<string, string[]> = {};
for (let seed = from; seed < from + n; seed++) {
  const t = realNow();
  const r = await simulate(planOf(seed), { trace });
  const ms = realNow() - t; total += ms; ev += r.events;
  if (trace) { for (const l of r.history.lines) console.log(l); }
  if (n < 30) console.log(seed, r.history.hash, r.events, `${ms.toFixed(0)}ms`, (r.lastedMs/3600e3).toFixed(1)+'h', r.plan.instances, r.plan.invoices.length, r.plan.faults.length, r.violation ?? '');
  if (r.violation) (by[r.violation.invariant] ??= []).push(seed + ': ' + (r.violation.invoiceId ?? '') + ' ' + r.violation.what);
}
console.log((total / n).toFixed(1), 'ms per schedule', (ev/n).toFixed(0), 'events');
for (const [k, v] of Object.entries(by)) { console.log(k, v.length); for (const x of v.slice(0, 4)) console.log('    ', x.slice(0, 220)); }
