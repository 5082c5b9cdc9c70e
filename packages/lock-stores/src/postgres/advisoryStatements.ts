import { aBoolean, aNumber, aText, fieldsOf, listOf, orElse, orNull } from '../answers.ts';

/** The server's clock in whole milliseconds since the epoch. */
export const postgresNowMs = 'floor(extract(epoch from clock_timestamp()) * 1000)';

/** The fence in a record; null without one. */
export const lastFence = `substring(record, '^[{]"fence":([0-9]+)')::bigint`;

/** Time after which a waiting session asks anew (ms): so long may one wait on whose client has gone. */
export const longestWaitMs = 4_000;

/**
 * The statements of advisory locks. `$1` is the number of the lock, but for `list` and `queued`. Those that run in the session of a lease
 * compare `$2` with the process that serves it: a lock belongs to a session, and a pooler may send a statement to another.
 */
export function advisoryStatements(table: string) {
  const ownProcess = 'pg_backend_pid() = $2';
  const locks = `(
    select pid, (classid::bigint << 32) | objid::bigint as hash from pg_locks
    where locktype = 'advisory' and objsubid = 1 and granted
      and database = (select oid from pg_database where datname = current_database())
  )`;
  const view = `select lock_key, version, record, hash in (select hash from ${locks} held) as held, ${postgresNowMs} as now
    from ${table}`;
  return {
    schema: [
      `create table if not exists ${table} (
      hash bigint primary key,
      lock_key text not null,
      version text not null,
      record text
    )`,
    ],
    look: `${view} where hash = $1`,
    /** $1: how the keys begin, $2: how long that is. */
    list: `${view} where left(lock_key, $2) = $1 order by lock_key`,
    /** $2: key, $3: version. */
    create: `insert into ${table} (hash, lock_key, version) values ($1, $2, $3) on conflict do nothing`,
    /**
     * $3: key, $4: milliseconds. Locks nothing for another key with the same number, nor in a session that is lent. Limits
     * how long the session may be silent only if it has the lock.
     */
    acquire: `
      with attempt as materialized (
        select lock_key,
          case when ${ownProcess} and lock_key = $3 then pg_try_advisory_lock(hash) end as locked
        from ${table} where hash = $1
      )
      select lock_key, locked,
        set_config('idle_session_timeout', case when locked then $4 else '0' end, false) as silence
      from attempt`,
    /**
     * The same with the fence, or none if $7 is null. $5: true in a session that has the lock, $6: lower bound of the fence, $7: the
     * record behind it, $8: version. The update waits for the last holder's and counts from that, though the statement began before.
     */
    take: `
      with attempt as materialized (
        select lock_key, case when not ${ownProcess} or lock_key <> $3 then null
          when $5::boolean then true else pg_try_advisory_lock(hash) end as locked
        from ${table} where hash = $1
      ),
      raised as (
        update ${table} set version = $8,
          record = '{"fence":' || greatest(${lastFence} + 1, ${postgresNowMs}::bigint, $6::bigint + 1) || $7::text
        from attempt where hash = $1 and locked and $7::text is not null returning ${lastFence} as fence
      )
      select ${ownProcess} as own, lock_key, locked as done, (select fence from raised) as fence,
        set_config('idle_session_timeout', case when locked then $4 else '0' end, false) as silence
      from attempt`,
    /** Waits for the lock, behind those who wait already. $3: milliseconds for which the session then keeps it without a statement. */
    wait: `select set_config('idle_session_timeout', $3, false) as silence,
      set_config('lock_timeout', '${longestWaitMs}', false) as patience, pg_advisory_lock($1) as waited
      where ${ownProcess}`,
    /** $1: a process. Its row is there as soon as it waits for a lock, and while it has one. */
    queued: `select from pg_locks where locktype = 'advisory' and pid = $1`,
    /** $2: key, $3: version. Nobody else can have the lock while it is deleted. */
    forget: `
      with attempt as materialized (
        select pg_try_advisory_xact_lock(hash) as free from ${table} where hash = $1 and lock_key = $2
      ),
      gone as (
        delete from ${table} using attempt where hash = $1 and version = $3 and free returning hash
      )
      select free, exists (select from gone) as done from attempt`,
    /** $3: milliseconds. Any statement restarts the lease. */
    renew: `select ${ownProcess} as own, (select lock_key from ${table} where hash = $1) as lock_key,
      set_config('idle_session_timeout', $3, false) as silence`,
    /** $3: version, $4: new version, $5: record. */
    raise: `
      with raised as (
        update ${table} set version = $4, record = $5 where hash = $1 and version = $3 and ${ownProcess} returning hash
      )
      select ${ownProcess} as own, exists (select from raised) as done`,
    /** A lock granted as its wait timed out is held, and counted again by the next wait. The session holds no other. */
    release: `select ${ownProcess} as own, pg_advisory_unlock($1) as done,
      case when ${ownProcess} then pg_advisory_unlock_all() end as again,
      set_config('idle_session_timeout', '0', false) as silence`,
    /** $2: version. Waits until the session is gone. */
    break: `
      select lock_key, pid, pg_terminate_backend(pid, 3000) as done
      from ${table} left join ${locks} held using (hash) where hash = $1 and version = $2`,
  };
}

export interface ViewRow {
  lock_key: string;
  version: string;
  record: string | null;
  held: boolean;
  now: number;
}
export const viewRows = listOf(
  // PostgreSQL answers with a text where a number may have more than 32 bits.
  fieldsOf<ViewRow>({ lock_key: aText, version: aText, record: orNull(aText), held: aBoolean, now: Number }),
);

/** `locked` is null if the attempt was not made. */
export const attemptRows = listOf(
  fieldsOf<{ lock_key: string; locked: boolean | null }>({ lock_key: aText, locked: orNull(aBoolean) }),
);

export const breakRows = listOf(
  fieldsOf<{ pid: number | null; done: boolean | null }>({ pid: orNull(aNumber), done: orNull(aBoolean) }),
);

export const forgetRows = listOf(
  fieldsOf<{ free: boolean; done: boolean }>({ free: aBoolean, done: aBoolean }),
);

export interface SessionRow {
  own: boolean;
  /** Null if the attempt was not made. */
  done?: boolean | null | undefined;
  lock_key?: string | null | undefined;
  fence?: number | null | undefined;
}
export const sessionRows = listOf(
  fieldsOf<SessionRow>({
    own: aBoolean,
    done: orElse(orNull(aBoolean), undefined),
    // A text, unless the program has set a parser for 64 bits (`pg.types`), which is one for all of its connections.
    fence: orElse(orNull(Number), undefined),
    lock_key: orElse(orNull(aText), undefined),
  }),
);
