/** The conditions in SQL under which a list shows a session to a user (S7). */
import type { ExpressionBuilder } from "kysely";
import type { SessionQuery } from "../../sessions.ts";
import type { SessionRow, Tables, TurnRow } from "../tables.ts";

/** Selects the sessions that lists and search show to the user (S7). The query names the table `s`. */
export function isVisible({
  orgId,
  userId,
  workspaceId,
}: {
  orgId: string;
  userId: string;
  workspaceId?: string | undefined;
}) {
  return (eb: ExpressionBuilder<Tables & { s: SessionRow }, "s">) =>
    eb.and([
      ...(workspaceId === undefined ? [] : [eb("s.workspace_id", "=", workspaceId)]),
      eb("s.org_id", "=", orgId),
      eb("s.deleted_at", "is", null),
      eb.or([eb("s.user_id", "=", userId), eb("s.is_draft", "=", 0)]),
      eb.or([eb("s.user_id", "=", userId), eb("s.is_public", "=", 1), takesPart(eb, userId)]),
    ]);
}

/** Returns the condition that the user takes part in the session. */
export function takesPart(eb: ExpressionBuilder<Tables & { s: SessionRow }, "s">, userId: string) {
  const own = eb.selectFrom("participants as p").select("p.user_id").whereRef("p.session_id", "=", "s.id");
  return eb.exists(own.where("p.user_id", "=", userId));
}

/**
 * Returns the condition that the session was forked from one that the user may see. The innermost query names its sessions `s` too, as
 * `isVisible` expects.
 */
export function hasVisibleOrigin(
  eb: ExpressionBuilder<Tables & { s: SessionRow }, "s">,
  scope: Pick<SessionQuery, "orgId" | "userId" | "workspaceId">,
) {
  const turn = eb
    .selectFrom("turns as t")
    .select("t.id")
    .whereRef("t.id", "=", "s.origin_turn_id")
    .whereRef("t.session_id", "<>", "s.id");
  const origin = ({ exists, selectFrom }: ExpressionBuilder<Tables & { s: SessionRow; t: TurnRow }, "s" | "t">) =>
    exists(
      selectFrom("sessions as s")
        .select("s.id")
        .whereRef("s.id", "=", "t.session_id")
        .where((inner) => isVisible(scope)(inner)),
    );
  return eb.exists(turn.where(origin));
}
