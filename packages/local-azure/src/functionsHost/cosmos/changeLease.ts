import { type Container, ErrorResponse } from '@azure/cosmos';

/** A host's hold on one feed range of a container, with the place that it has reached in the change feed. */
export interface ChangeLease {
  id: string;
  owner: string;
  /** Epoch milliseconds until which nobody else may read the range. */
  until: number;
  /** Absent: nothing has been read yet. */
  continuation?: string;
  etag: string;
}

/** The leases of one function, documents of the lease container. Each write is made on the ETag of the one before. */
export function changeLeases(container: Container, owner: string, now: () => number, lengthMs: number) {
  async function write(
    lease: Omit<ChangeLease, 'etag'>,
    etag: string | undefined,
  ): Promise<ChangeLease | undefined> {
    try {
      const { resource } =
        etag === undefined
          ? await container.items.create(lease)
          : await container
              .item(lease.id, lease.id)
              .replace(lease, { accessCondition: { type: 'IfMatch', condition: etag } });
      return resource && { ...lease, etag: resource._etag };
    } catch (error) {
      const lost = error instanceof ErrorResponse && [404, 409, 412].includes(Number(error.code));
      if (lost) return undefined;
      throw error;
    }
  }

  return {
    /** Takes a lease that is free. Undefined if another host has it. */
    async acquire(id: string): Promise<ChangeLease | undefined> {
      const { resource } = await container.item(id, id).read<Omit<ChangeLease, 'etag'>>();
      if (resource === undefined) return write({ id, owner, until: now() + lengthMs }, undefined);
      if (resource.owner !== owner && resource.until > now()) return undefined;
      return write(
        {
          id,
          owner,
          until: now() + lengthMs,
          ...(resource.continuation === undefined ? {} : { continuation: resource.continuation }),
        },
        resource._etag,
      );
    },

    /** Extends a lease, with the place reached. Undefined if it is lost. */
    renew(
      { etag, ...lease }: ChangeLease,
      continuation = lease.continuation,
    ): Promise<ChangeLease | undefined> {
      const until = now() + lengthMs;
      return write({ ...lease, until, ...(continuation === undefined ? {} : { continuation }) }, etag);
    },

    /** Leaves the range to others at once. */
    async release({ etag, ...lease }: ChangeLease): Promise<void> {
      await write({ ...lease, until: 0 }, etag);
    },
  };
}
