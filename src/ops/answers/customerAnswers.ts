import { z } from 'zod';
import { invoiceDetailAnswer } from './invoiceAnswers.ts';

export const customerAnswer = z.object({ customerId: z.string(), invoices: z.array(invoiceDetailAnswer) });

export const erasedAnswer = z.object({
  erased: z.int().describe('Invoices that were erased by this call'),
  complete: z.boolean().describe('False if there was no time for all of them: ask again'),
  leftCount: z.int(),
  left: z
    .array(
      z.object({
        id: z.string(),
        why: z
          .enum(['open', 'recent', 'refundPending', 'disputeOpen', 'tooManyDays', 'named', 'busy'])
          .describe(
            'open: not paid, declined or voided. recent: changed within eight days. named: a message about it waits. busy: ask again',
          ),
      }),
    )
    .describe('The first hundred that were not: erase the customer again once they have settled'),
});
