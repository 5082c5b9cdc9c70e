import type { CorrectionParts } from '../../src/after/corrections.ts';
import type { PaymentProvider } from '../../src/paying/paymentProvider.ts';
import { anInstance } from './anInstance.ts';
import { emptyProvider } from './emptyProvider.ts';
import { followUpsForTests, hastyClock } from './payingWorld.ts';
import { unpaced } from './unpaced.ts';

/** Builds the parts of a correction. By default nothing was ever paid. */
export function correctionParts({
  invoices,
  provider = {},
  clock = hastyClock,
}: Pick<CorrectionParts, 'invoices'> & {
  provider?: Partial<PaymentProvider>;
  clock?: CorrectionParts['instance']['clock'];
}): CorrectionParts {
  return {
    invoices,
    provider: unpaced({ ...emptyProvider, ...provider }, { clock }),
    followUps: followUpsForTests,
    instance: anInstance({ name: 'host-ops', clock }),
  };
}
