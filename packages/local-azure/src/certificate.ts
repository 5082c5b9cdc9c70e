/** A certificate for this machine, made with node:crypto: a library for it would bring some twenty packages. */
import { generateKeyPairSync, randomBytes, sign, X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** PEM texts, as `node:tls` takes them, and the files that hold them. */
export interface Certificate {
  cert: string;
  key: string;
  certFile: string;
  keyFile: string;
}

const validMs = 800 * 24 * 3_600_000;
/** Renewed when it has less than this left. */
const renewMs = 7 * 24 * 3_600_000;

/**
 * The certificate of `localhost` in a folder, which is made there if there is none or it ends soon. Clients trust it if
 * `NODE_EXTRA_CA_CERTS` names its file.
 */
export function certificateIn(folder: string): Certificate {
  const certFile = resolve(folder, 'certificate.pem');
  const keyFile = join(resolve(folder), 'certificate-key.pem');
  if (!existsSync(certFile) || !existsSync(keyFile) || endsSoon(readFileSync(certFile, 'utf8'))) {
    mkdirSync(folder, { recursive: true });
    const { cert, key } = newCertificate();
    writeFileSync(keyFile, key, { mode: 0o600 });
    writeFileSync(certFile, cert);
  }
  return { cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8'), certFile, keyFile };
}

const endsSoon = (cert: string) => Date.parse(new X509Certificate(cert).validTo) < Date.now() + renewMs;

function newCertificate(): { cert: string; key: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const serial = Buffer.concat([Buffer.from([1]), randomBytes(15)]);
  // A name of its own: of two with one name, OpenSSL would try only the first.
  const own = Buffer.from(`local-azure ${serial.toString('hex')}`);
  const name = sequence(der(0x31, sequence(commonName, der(0x0c, own))));
  const now = Date.now();
  // https://www.rfc-editor.org/rfc/rfc5280#section-4.1
  const certificate = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, serial),
    sequence(ecdsaWithSha256),
    name,
    sequence(time(now - 24 * 3_600_000), time(now + validMs)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(
      0xa3,
      sequence(
        sequence(basicConstraints, der(0x04, sequence(der(0x01, Buffer.from([0xff]))))),
        sequence(
          subjectAltName,
          der(
            0x04,
            sequence(
              der(0x82, Buffer.from('localhost')),
              der(0x87, Buffer.from([127, 0, 0, 1])),
              der(0x87, Buffer.from([...Array(15).fill(0), 1])),
            ),
          ),
        ),
      ),
    ),
  );
  const signature = sign('sha256', certificate, privateKey);
  const signed = sequence(
    certificate,
    sequence(ecdsaWithSha256),
    der(0x03, Buffer.concat([Buffer.from([0]), signature])),
  );
  const lines = signed.toString('base64').match(/.{1,64}/g) ?? [];
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/** A value in ASN.1 DER. */
function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (...parts: Buffer[]) => der(0x30, Buffer.concat(parts));
/** As a UTCTime: two digits for the year. */
const time = (ms: number) =>
  der(
    0x17,
    Buffer.from(
      `${new Date(ms)
        .toISOString()
        .slice(2)
        .replaceAll(/[-:T]|\..*/g, '')}Z`,
    ),
  );

// Object identifiers.
const commonName = Buffer.from('0603550403', 'hex');
const basicConstraints = Buffer.from('0603551d13', 'hex');
const subjectAltName = Buffer.from('0603551d11', 'hex');
const ecdsaWithSha256 = Buffer.from('06082a8648ce3d040302', 'hex');
