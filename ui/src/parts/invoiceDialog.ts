import type { InvoiceDetailAnswer } from '../../../src/ops/answers/invoiceAnswers.ts';

/** Properties of every dialog about an invoice. */
export interface InvoiceDialog {
  invoice: InvoiceDetailAnswer;
  close: () => void;
  /** Called once the change is made. */
  done: () => void;
}
