/** Request and reply messages on `$cbs` and `$management`, matched by link and correlation id. */
import type { Peer } from './peer.ts';
import {
  asDelivery,
  decodeMessage,
  type IncomingLink,
  outcomes,
  type RequestMessage,
  settle,
  types,
} from './rhea.ts';

export interface Answer {
  statusCode: number;
  statusDescription: string;
  errorCondition?: string;
  body?: unknown;
}

/** `$cbs` and `$management` spell the same properties differently. */
export type Spelling = 'cbs' | 'management';

const spellings = {
  cbs: ['status-code', 'status-description', 'error-condition'],
  management: ['statusCode', 'statusDescription', 'errorCondition'],
} as const;

export function serveRequests(
  peer: Peer,
  link: IncomingLink,
  spelling: Spelling,
  handle: (request: RequestMessage, answer: (answer: Answer) => void) => void,
): void {
  link.on('message', (context) => {
    if (context.delivery === undefined) return;
    settle(asDelivery(context.delivery), outcomes.accepted());
    const request = decodeMessage(context.message as Buffer);
    handle(request, (answer) => reply(peer, request, spelling, answer));
  });
}

function reply(peer: Peer, request: RequestMessage, spelling: Spelling, answer: Answer): void {
  const link = [...peer.replies].find(
    ({ name, target }) => name === request.reply_to || target?.address === request.reply_to,
  );
  if (link === undefined) return;
  const [code, description, condition] = spellings[spelling];
  link.send({
    correlation_id: request.message_id as string,
    application_properties: {
      [code]: types.wrap_int(answer.statusCode),
      [description]: answer.statusDescription,
      ...(answer.errorCondition === undefined
        ? {}
        : { [condition]: types.wrap_symbol(answer.errorCondition) }),
    },
    body: answer.body,
  });
}
