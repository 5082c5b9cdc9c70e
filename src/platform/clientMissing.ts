/** The package that a setting needs is not installed. */
export class ClientMissing extends Error {
  override readonly name = 'ClientMissing';
}

/** A module that needs a package, which may be missing; `setting` is what asks for it. @throws {ClientMissing} */
export async function installed<T>(name: string, load: () => Promise<T>, setting: string): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) throw error;
    const what = `${setting} needs the npm package "${name}", which is not installed: npm install --save-prod ${name}`;
    throw new ClientMissing(what, { cause: error });
  }
}
