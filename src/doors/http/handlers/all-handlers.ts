/** The handlers of all routes. */
import type { RouteName } from "../../../protocol/routes/paths.ts";
import { budgetHandlers } from "./budgets.ts";
import { contextHandlers } from "./contexts.ts";
import { deviceHandlers } from "./devices.ts";
import { executeHandler } from "./execute.ts";
import type { HandlerDependencies, RouteHandlers } from "./handler.ts";
import { indexHandlers } from "./indexes.ts";
import { mailboxHandlers } from "./mailbox.ts";
import { memoryHandlers } from "./memory.ts";
import { offerHandlers } from "./offers.ts";
import { peopleHandlers } from "./people.ts";
import { pinHandlers } from "./pins.ts";
import { serverHandlers } from "./server.ts";
import { sessionHandlers } from "./sessions.ts";
import { signInHandlers } from "./sign-in.ts";
import { streamHandlers } from "./streams.ts";
import { summaryHandlers } from "./summaries.ts";
import { transferHandlers } from "./transfer.ts";
import { treeHandlers } from "./tree.ts";
import { turnHandlers } from "./turns.ts";
import { workspaceHandlers } from "./workspaces.ts";

export function allHandlers(door: HandlerDependencies): RouteHandlers<RouteName> {
  return {
    ...executeHandler(door),
    ...sessionHandlers(door),
    ...treeHandlers(door),
    ...transferHandlers(door),
    ...summaryHandlers(door),
    ...turnHandlers(door),
    ...mailboxHandlers(door),
    ...pinHandlers(door),
    ...streamHandlers(door),
    ...serverHandlers(door),
    ...deviceHandlers(door),
    ...signInHandlers(door),
    ...indexHandlers(door),
    ...offerHandlers(door),
    ...contextHandlers(door),
    ...workspaceHandlers(door),
    ...memoryHandlers(door),
    ...peopleHandlers(door),
    ...budgetHandlers(door),
  };
}
