import type { CorrectionParts } from '../../src/corrections/corrections.ts';
import type { PaymentProvider } from '../../src/paying/paymentProvider.ts';
import { anInstance } from './anInstance.ts';
import { followUpsForTests, hastyClock } from './payingWorld.ts';
import { unpaced } from './unpaced.ts';

/** A provider that no payment was ever made at. */
export const emptyProvider: PaymentProvider = {
  charge: async () => ({ kind: 'transient', code: 'none', message: 'this provider charges nothing' }),
  find: async () => ({ kind: 'notFound' }),
  retrieve: async () => ({ kind: 'notFound' }),
};

/** What a correction works with. By default nothing was ever paid. */
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
