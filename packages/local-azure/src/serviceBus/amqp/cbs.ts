import { createHmac, timingSafeEqual } from 'node:crypto';
import type { AccessKey, Peer } from './peer.ts';
import { type Answer, serveRequests } from './requests.ts';
import type { IncomingLink, RequestMessage } from './rhea.ts';

const accepted: Answer = { statusCode: 202, statusDescription: 'Accepted' };

const refused = (statusDescription: string): Answer => ({
  statusCode: 401,
  statusDescription,
  errorCondition: 'amqp:unauthorized-access',
});

/** `$cbs`: clients put a token signed with the key, or any Entra token, before they open links. Token expiry is not enforced. */
export function serveCbs(peer: Peer, link: IncomingLink, key: AccessKey): void {
  serveRequests(peer, link, 'cbs', (request, answer) => {
    const result = checkToken(request, key);
    if (result.statusCode === 202) peer.authorized = true;
    answer(result);
  });
}

function checkToken(
  { application_properties: properties = {}, body }: RequestMessage,
  key: AccessKey,
): Answer {
  const { operation, type } = properties;
  if (operation !== 'put-token')
    return refused(`The operation "${String(operation)}" is not supported on $cbs.`);
  // Of Microsoft Entra. Nobody here could check it.
  if (type === 'jwt') return accepted;
  if (type !== 'servicebus.windows.net:sastoken') {
    return refused(
      `Tokens of type "${String(type)}" are not supported here, only shared access signatures and Entra tokens.`,
    );
  }
  return signedWith(String(body), key)
    ? accepted
    : refused('InvalidSignature: The token has an invalid signature.');
}

/** https://learn.microsoft.com/azure/service-bus-messaging/service-bus-sas#generate-a-shared-access-signature-token */
export function signedWith(token: string, key: AccessKey): boolean {
  const prefix = 'SharedAccessSignature ';
  if (!token.startsWith(prefix)) return false;
  const fields = new Map(
    token
      .slice(prefix.length)
      .split('&')
      .map((field): [string, string] => {
        const at = field.indexOf('=');
        return [field.slice(0, at), field.slice(at + 1)];
      }),
  );
  const [resource, expiry, signature] = [fields.get('sr'), fields.get('se'), fields.get('sig')];
  if (resource === undefined || expiry === undefined || signature === undefined) return false;
  if (decodeURIComponent(fields.get('skn') ?? '') !== key.name) return false;
  const expected = createHmac('sha256', key.value).update(`${resource}\n${expiry}`).digest();
  const given = Buffer.from(decodeURIComponent(signature), 'base64');
  return given.length === expected.length && timingSafeEqual(given, expected);
}
