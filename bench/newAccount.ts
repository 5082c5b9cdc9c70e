/**
 * Options for `npm run cloud`: one partition key range in each container, as a new account has. The figures in the documents
 * are of such a one; each further range costs a request more for a query over all partitions.
 */
export const newAccount = ['--cosmos-partitions', '1'] as const;
