import type { InvoiceDetailAnswer } from '../../../src/ops/answers/invoiceAnswers.ts';

/** What every dialog about an invoice is given. */
export interface InvoiceDialog {
  invoice: InvoiceDetailAnswer;
  close: () => void;
  /** Called once the change is made. */
  done: () => void;
}
