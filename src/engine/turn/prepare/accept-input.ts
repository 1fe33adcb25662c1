/** What a request is accepted with: the request, who made it, and what is known of its session. */
import type { Caller } from "../../../domain/caller.ts";
import type { ContextVersionFacts } from "../../../domain/context.ts";
import type { PartRef } from "../../../domain/input-part.ts";
import type { Session } from "../../../domain/session.ts";
import type { SubagentRef } from "../../../domain/subagent.ts";
import type { Tool } from "../../../tools/tool.ts";
import type { TurnRequest } from "../../engine.ts";
import type { KeptRules } from "../kept/kept-rules.ts";
import type { DeliveredMessage } from "../request/mailbox-block.ts";
import type { ClientTools } from "./client-tools.ts";
import type { TurnSkills } from "./skills.ts";

export interface AcceptInput {
  caller: Caller;
  request: TurnRequest;
  /** The session whose contexts, workspace and repository count if the request names none. */
  session: Session | null;
  /** The request as the caller sent it, if the turn repeats another one. `request` then has what that turn asked for. */
  given?: TurnRequest;
  /** The subagent whose turn this is. It has only the tools of the request. */
  subagent?: SubagentRef;
  mail?: readonly DeliveredMessage[];
  subagentTools: readonly Tool[];
  /** The input parts of the history that can be read, by name. */
  inherited: ReadonlyMap<string, PartRef>;
  /** The rules of the boot prompt so far (M1). Undefined: the conversation begins. */
  keptRules: KeptRules | null | undefined;
  clientTools: ClientTools;
  /** The skills of a subagent, which are its spawner's (M4). Absent: they are looked for. */
  skills?: TurnSkills;
  /** The newest versions of the org's contexts, read since the request came. Absent: they are read now. */
  newestContexts?: Promise<ContextVersionFacts[]>;
}
