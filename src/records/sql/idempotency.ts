/** The keys of requests in SQL (T13). */
import type { Kysely } from "kysely";
import type { IdempotentRequest } from "../turns.ts";
import type { Tables } from "./tables.ts";

export async function findIdempotent(
  db: Kysely<Tables>,
  { userId, key }: { userId: string; key: string },
): Promise<IdempotentRequest | null> {
  const row = await db
    .selectFrom("idempotency")
    .selectAll()
    .where("user_id", "=", userId)
    .where("key", "=", key)
    .executeTakeFirst();
  return row === undefined ? null : { userId, key, requestHash: row.request_hash, turnId: row.turn_id };
}

export async function keepIdempotent(db: Kysely<Tables>, request: IdempotentRequest): Promise<void> {
  const insert = db.insertInto("idempotency").values(idempotencyRow(request));
  await insert.onConflict((conflict) => conflict.columns(["user_id", "key"]).doNothing()).execute();
}

export function idempotencyRow({ userId, key, requestHash, turnId }: IdempotentRequest): Tables["idempotency"] {
  return { user_id: userId, key, request_hash: requestHash, turn_id: turnId };
}
