import type { DocumentStore } from '@payonce/jobs/documents';
import type { Instance } from '@payonce/jobs/instance';
import type { PacerParts, PauseWatch } from '@payonce/jobs/rate';
import { checkedAccount, recordedAccount } from './accountCheck.ts';
import { createExecutePayments } from './executePayments.ts';
import { type PaymentAllowance, pacedProvider, paymentPace } from './pacedProvider.ts';
import type { PayingPolicy } from './payingPolicy.ts';
import type { PaymentProvider, ProviderAccount } from './paymentProvider.ts';

/** The provider behind its gates (docs/gates.md), and the consumer of the payment commands. */
export function payments(
  given: PaymentProvider & ProviderAccount,
  {
    pace: store,
    documents,
    pause,
    stopping,
    instance,
    ...paying
  }: Omit<Parameters<typeof createExecutePayments>[0], 'provider'> & {
    pace: PacerParts['store'];
    documents: DocumentStore;
    pause: PauseWatch;
    stopping: AbortSignal;
    instance: Instance;
  },
  policy: PayingPolicy,
  { allowance, deploymentId }: { allowance: PaymentAllowance; deploymentId?: string | undefined },
) {
  const pace = paymentPace({ store, instance, stopping, pause }, allowance);
  const checked = checkedAccount(given, documents, instance, pace.lookups, deploymentId);
  const provider = pacedProvider(given, pace, instance, checked);
  const { checkKey, healthChecks } = checked;
  const account = () => recordedAccount(documents);
  const execute = createExecutePayments({ ...paying, provider, instance }, policy);
  return { provider, lookups: checked, checkKey, healthChecks, account, execute };
}
