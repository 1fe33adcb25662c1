/**
 * The table of the live log and the statements on it. A row holds the events of one append of one turn, as a JSON list, under
 * the number of its last event. A turn without events yet has the row 0.
 *
 * A row is inserted only if the row before it exists. So the table always has an unbroken beginning, a row that is sent twice
 * is stored once, and a dropped log stays dropped even if its writer does not know of the drop yet.
 */
import type { Pool } from "pg";
import type { SequencedEvent, TurnEvent } from "../../domain/events.ts";

export const postgresProgressChannel = "aptove_live";
export const postgresWakeChannel = "aptove_wake";
/** The key of the table lock. Its value does not matter, but every process must use the same one. */
const tableLock = 4_711_260_021;
/** The maximum number of entries in a notification. It holds 8,000 bytes, and an entry has 50. */
const entriesPerNotification = 150;

export interface LiveRow {
  turnId: string;
  /** The number of the row before it. 0 for the first row. */
  previousSeq: number;
  lastSeq: number;
  /** The events as a JSON list. */
  events: string;
}

export interface EventPosition {
  turnId: string;
  afterSeq: number;
}

export class LiveTable {
  readonly #pool: Pool;
  readonly #name: string;

  constructor(pool: Pool, name: string) {
    this.#pool = pool;
    this.#name = name;
  }

  /** Creates the table unless it exists. A user who may not create tables can use an existing one. */
  async make(): Promise<void> {
    const { rows } = await this.#pool.query("select to_regclass($1) is not null as exists", [this.#name]);
    if (rows[0]?.exists === true) return;
    await this.#pool.query(`
      begin;
      select pg_advisory_xact_lock(${tableLock});
      create table if not exists ${this.#name} (
        turn_id text collate "C" not null,
        last_seq integer not null,
        events text not null,
        primary key (turn_id, last_seq)
      );
      commit`);
  }

  /** Inserts rows of different turns, and notifies every process. */
  async insert(rows: readonly LiveRow[]): Promise<void> {
    await this.#pool.query({
      name: "live-insert",
      text: `
        with progress as (
          insert into ${this.#name} (turn_id, last_seq, events)
          select turn_id, last_seq, events
          from unnest($1::text[], $2::integer[], $3::integer[], $4::text[]) as row (turn_id, previous_seq, last_seq, events)
          where previous_seq = 0
            or exists (select from ${this.#name} known where known.turn_id = row.turn_id and known.last_seq = row.previous_seq)
          on conflict do nothing
          returning turn_id, last_seq
        ), numbered as (
          select turn_id || ':' || last_seq as progress, (row_number() over () - 1) / ${entriesPerNotification} as part from progress
        )
        select pg_notify('${postgresProgressChannel}', string_agg(progress, ',')) from numbered group by part`,
      values: [
        rows.map(({ turnId }) => turnId),
        rows.map(({ previousSeq }) => previousSeq),
        rows.map(({ lastSeq }) => lastSeq),
        rows.map(({ events }) => events),
      ],
    });
  }

  /** Returns, for each position, the events after it. Null if the turn has no log. */
  async read(positions: readonly EventPosition[]): Promise<(SequencedEvent[] | null)[]> {
    const { rows } = await this.#pool.query<{ position: number; last_seq: number | null; events: string | null }>({
      name: "live-read",
      text: `
        select position::integer - 1 as position, found.last_seq, found.events
        from unnest($1::text[], $2::bigint[]) with ordinality as wanted (turn_id, after_seq, position)
        cross join lateral (
          select last_seq, events from ${this.#name} row where row.turn_id = wanted.turn_id and last_seq > after_seq
          union all
          (select null, null from ${this.#name} row where row.turn_id = wanted.turn_id limit 1)
        ) as found
        order by position, last_seq nulls first`,
      values: [positions.map(({ turnId }) => turnId), positions.map(({ afterSeq }) => afterSeq)],
    });
    const read: (SequencedEvent[] | null)[] = positions.map(() => null);
    for (const { position, last_seq: lastSeq, events } of rows) {
      const found = (read[position] ??= []);
      if (lastSeq === null || events === null) continue;
      const afterSeq = positions[position]?.afterSeq ?? 0;
      found.push(...numbered(JSON.parse(events) as TurnEvent[], lastSeq).filter(({ seq }) => seq > afterSeq));
    }
    return read;
  }

  async list(): Promise<string[]> {
    const { rows } = await this.#pool.query<{ turn_id: string }>(`select distinct turn_id from ${this.#name}`);
    return rows.map(({ turn_id: turnId }) => turnId);
  }

  async drop(turnIds: readonly string[]): Promise<void> {
    await this.#pool.query({
      name: "live-drop",
      text: `
        with gone as (delete from ${this.#name} where turn_id = any($1) returning turn_id), numbered as (
          select turn_id || ':' as progress, (row_number() over () - 1) / ${entriesPerNotification} as part
          from (select distinct turn_id from gone) as turns
        )
        select pg_notify('${postgresProgressChannel}', string_agg(progress, ',')) from numbered group by part`,
      values: [turnIds],
    });
  }

  /** Wakes every process. A notification that cannot be sent is lost. */
  async wake(topic: string): Promise<void> {
    await this.#pool.query("select pg_notify($1, $2)", [postgresWakeChannel, topic]);
  }
}

function numbered(events: readonly TurnEvent[], lastSeq: number): SequencedEvent[] {
  return events.map((event, index) => ({ seq: lastSeq - events.length + 1 + index, event }));
}
