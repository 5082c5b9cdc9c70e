import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProgram } from './servers/findProgram.ts';

export const certificatePrograms = { openssl: findProgram('openssl') };

/** A folder with `ca`, an authority, and `server` and `client`, which it has signed for 127.0.0.1: `NAME.pem` and `NAME.key`. */
export function makeCertificates(): { folder: string; file: (name: string) => Buffer } {
  const folder = mkdtempSync(join(tmpdir(), 'payonce-tls-'));
  for (const name of ['ca', 'server', 'client']) {
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', `${name}.key`];
    const signer = name === 'ca' ? [] : ['-CA', 'ca.pem', '-CAkey', 'ca.key'];
    const names = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1'];
    const args = ['req', '-x509', '-days', '2', '-out', `${name}.pem`, ...key, ...signer, ...names];
    execFileSync('openssl', args, { cwd: folder, stdio: 'ignore' });
  }
  return { folder, file: (name) => readFileSync(join(folder, name)) };
}
