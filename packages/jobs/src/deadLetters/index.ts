/**
 * Messages that nobody works on any more, from several queues as one list: each can be sent again or thrown away, by its id.
 * `@payonce/jobs/dead-letters/service-bus` reads those of a Service Bus queue, `poisonSource` the recorded poison messages of
 * work items.
 */
export {
  type DeadLetter,
  type DeadLetterFilter,
  type DeadLetterSource,
  type Discarded,
  deadLetterPlace,
  deadLettersOf,
  type Moved,
  matchesLetter,
  poisonSource,
} from './deadLetters.ts';
