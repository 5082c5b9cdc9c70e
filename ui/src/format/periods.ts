const dayMs = 86_400_000;

export const periodNames = ['today', 'this week', 'this month', 'last month'] as const;
export type PeriodName = (typeof periodNames)[number];

/** Some days (`YYYY-MM-DD`, UTC): the first, and the first one after them. */
export interface Period {
  from: string;
  before: string;
}

/** The days that a name stands for on a day (`YYYY-MM-DD`); weeks begin on Monday. Pure. */
export function periodOf(name: PeriodName, today: string): Period {
  const [year, month] = [Number(today.slice(0, 4)), Number(today.slice(5, 7)) - 1];
  switch (name) {
    case 'today':
      return { from: today, before: daysAfter(today, 1) };
    case 'this week': {
      const sinceMonday = (new Date(today).getUTCDay() + 6) % 7;
      return { from: daysAfter(today, -sinceMonday), before: daysAfter(today, 7 - sinceMonday) };
    }
    case 'this month':
      return { from: dayOf(Date.UTC(year, month)), before: dayOf(Date.UTC(year, month + 1)) };
    case 'last month':
      return { from: dayOf(Date.UTC(year, month - 1)), before: dayOf(Date.UTC(year, month)) };
  }
}

/** The name of a period on a day; undefined if it has none. Pure. */
export function periodName({ from, before }: Period, today: string): PeriodName | undefined {
  return periodNames.find((name) => {
    const named = periodOf(name, today);
    return named.from === from && named.before === before;
  });
}

/** A day some days later. Pure. */
export function daysAfter(day: string, days: number): string {
  return dayOf(Date.parse(day) + days * dayMs);
}

function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}
