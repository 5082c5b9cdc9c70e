const adapter = 'the simulation ends at the port of the provider: the Stripe adapter is not in it';
const sentBySweeper =
  'what was written is there either way, and the sweeper sends what follows: only counts differ';
const archive = 'an invoice moves to the archive after 400 days, and no schedule is longer than 90';

const oldKey =
  'an old key starts over under its own name, so a call that the look-up has missed is answered again; and the list of the customer, which is looked through too, does not lag';

const dayOfSilence =
  'only a provider that answers nothing for a day, while a clock is wrong by more than an hour, leads there: none of the first 2,000 seeds does (kept/key-behind-a-slow-clock.json does, for a clock that is behind)';

const keyInUseLate =
  'only a provider that is silent for a day, and a customer who changes their default meanwhile, lead there: none of the first 2,000 seeds does (kept/key-starts-over-with-another-method.json does)';

/** Guards that the simulation cannot see when they are switched off, and why. */
export const outOfSight: Readonly<Record<string, string>> = {
  'id of a payment that the search finds': adapter,
  'a payment that is alive: neither declined nor unknown': adapter,
  'a look-up that sees payments in progress': adapter,
  'a repeated answer is out of date once money has gone back': adapter,
  'fields of a newer release, kept with the payment':
    'the newer release of the simulation sends messages only: no document has a field that this one does not know',
  'a settlement known by its own name after a lost answer': sentBySweeper,
  'a claim known by its batch id after a lost answer': sentBySweeper,
  'hash of the parameters of a key':
    'nobody changes what a key stands for, since an import of other content is refused; and the provider refuses the key, too',
  'what a batch id may consist of': 'every batch comes from a run, whose ids are as they should be',
  'the run in the timeline of an invoice that it has retried': 'nobody starts a bulk run',
  'text in quotes is no row, however long it is': 'invoices are imported as JSON',
  'a principal that no platform has set':
    'people call with a function key, and without the headers of a sign-in',
  'the role of a signed-in caller': 'people call with a function key, which may do everything',
  'an invoice is in the archive before it leaves the database': archive,
  'ETag condition of a tombstone': 'the adapter to Cosmos DB is not in the simulation',
  'a tombstone that stays, so that no import stores the invoice again': archive,
  'counts of the archive, in the transaction that moves invoices': archive,
  'none found twice, an hour apart, before a key that may have charged starts over': oldKey,
  'an old key that may have been used': oldKey,
  'what a key stands for, kept when it starts over': keyInUseLate,
  'age of a key where the clock of who calls is behind: the time of the message': dayOfSilence,
  'age of a key where the clock of who claims is fast: the time of the message': dayOfSilence,
  'copies of a work item, whatever they tell of earlier tries':
    'only a queue that answers too late for an hour makes so many that the schedule does not end: kept/copies-of-each-try.json does',
  'age of a key, stored before the first call':
    'only a store that is away for the whole day after a call, and a clock skew of more than an hour, lead there: kept/key-dated-by-a-fast-clock.json does',
  'age of a key where its message has waited: the time at which its lock was renewed':
    'only a message that waits for an hour, while a key is a day old and the clock of who takes it is as far behind, leads there: kept/message-behind-a-slow-clock.json does',
  'a search that finds nothing while it may lag':
    'a look-up that finds nothing only says so in the timeline, and the list of the customer does not lag',
  'the payment that an invoice waits for, and no other':
    'an event of another payment that failed is left alone before the provider is asked (after/eventStage.ts)',
  'the default method that is stored with its key':
    'a delivery that calls again reads the stored method before it asks for another, and an earlier one can store none any more',
  'a start taken back by the delivery that made it':
    'each start also moves the time at which its claim goes stale, which the other condition compares',
  'one delivery at a time calls again': 'both send the same key, and only their attempts are counted wrongly',
  'a refusal that comes late frees no refund that was made':
    'only a refusal of a refund that has been made leads there: in none of the first 2,000 seeds does the provider refuse one that it has made under the same key',
  'the age of the key of a refund':
    'only the order of a refund whose key is a day old and was used leads there: none of the first 2,000 seeds does',
  'effect check of a message of several work items':
    'its work items are then sent again alone, and those that share a message are harmless to do twice',
  'a failing work item, sent on so that it is not lost with the message':
    'a stage without a lease fails here only because something is away, and then the item is retried',
};
