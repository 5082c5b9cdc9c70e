import { aBoolean, aNumber, aText, fieldsOf, listOf, orElse, orNull } from '../answers.ts';

/** The server's clock in whole milliseconds since the epoch. */
export const postgresNowMs = 'floor(extract(epoch from clock_timestamp()) * 1000)';

/**
 * The statements of advisory locks. `$1` is the number of the lock, but for `list`. Those that run in the session of a lease
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
    /** $3: milliseconds. Any statement restarts the lease. */
    renew: `select ${ownProcess} as own, (select lock_key from ${table} where hash = $1) as lock_key,
      set_config('idle_session_timeout', $3, false) as silence`,
    /** $3: version, $4: new version, $5: record. */
    raise: `
      with raised as (
        update ${table} set version = $4, record = $5 where hash = $1 and version = $3 and ${ownProcess} returning hash
      )
      select ${ownProcess} as own, exists (select from raised) as done`,
    release: `select ${ownProcess} as own, pg_advisory_unlock($1) as done,
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

export interface SessionRow {
  own: boolean;
  done?: boolean | undefined;
  lock_key?: string | null | undefined;
}
export const sessionRows = listOf(
  fieldsOf<SessionRow>({
    own: aBoolean,
    done: orElse(aBoolean, undefined),
    lock_key: orElse(orNull(aText), undefined),
  }),
);
