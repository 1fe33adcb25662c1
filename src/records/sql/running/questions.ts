/** Questions of clients about calls of their own tools, in SQL (V5). */
import { sql, type Kysely } from "kysely";
import type { ClientCallView } from "../../../domain/tool.ts";
import type { ClientAnswer, QuestionRecords } from "../../questions.ts";
import type { SqlDialect } from "../sql-dialect.ts";
import type { Tables } from "../tables.ts";

/** The id comes from a model. As JSON it is a text that every engine can hold. */
const textOf = (callId: string): string => JSON.stringify(callId);

export function questionRecords(db: Kysely<Tables>, dialect: SqlDialect): QuestionRecords {
  const after = (ms: number) => sql<number>`${dialect.now()} + ${sql.lit(ms)}`;
  return {
    async ask({ turnId, callId, askerId, view, leaseMs }) {
      await db.deleteFrom("client_questions").where("expires_at", "<=", dialect.now()).execute();
      const question = { asker_id: askerId, view: JSON.stringify(view), expires_at: after(leaseMs) };
      const { answer } = await db
        .insertInto("client_questions")
        .values({ turn_id: turnId, call_id: textOf(callId), ...question, answer: null })
        .onConflict((conflict) =>
          conflict.columns(["turn_id", "call_id"]).doUpdateSet((eb) => {
            const isSame = eb("client_questions.asker_id", "=", askerId);
            const kept = eb.ref("client_questions.expires_at");
            // An answer is kept longer than a lease.
            const isAnswered = eb.and([isSame, eb("client_questions.answer", "is not", null)]);
            return {
              asker_id: askerId,
              view: question.view,
              expires_at: eb.case().when(isAnswered).then(kept).else(question.expires_at).end(),
              answer: eb.case().when(isSame).then(eb.ref("client_questions.answer")).else(null).end(),
            };
          }),
        )
        .returning("answer")
        .executeTakeFirstOrThrow();
      return answer === null ? null : (JSON.parse(answer) as ClientAnswer);
    },
    async listOpen(turnId) {
      const rows = await db
        .selectFrom("client_questions")
        .select(["call_id", "asker_id", "view"])
        .where("turn_id", "=", turnId)
        .where("answer", "is", null)
        .where("expires_at", ">", dialect.now())
        .orderBy("call_id")
        .execute();
      return rows.map(({ call_id, asker_id, view }) => {
        return {
          turnId,
          callId: JSON.parse(call_id) as string,
          askerId: asker_id,
          view: JSON.parse(view) as ClientCallView,
        };
      });
    },
    async answer({ turnId, callId, answer, keptMs }) {
      const { numUpdatedRows } = await db
        .updateTable("client_questions")
        .set({ answer: JSON.stringify(answer), expires_at: after(keptMs) })
        .where("turn_id", "=", turnId)
        .where("call_id", "=", textOf(callId))
        .where("answer", "is", null)
        .where("expires_at", ">", dialect.now())
        .executeTakeFirst();
      return numUpdatedRows === 1n;
    },
    async withdraw({ turnId, callId, askerId }) {
      await db
        .deleteFrom("client_questions")
        .where("turn_id", "=", turnId)
        .where("call_id", "=", textOf(callId))
        .where("asker_id", "=", askerId)
        .execute();
    },
  };
}
