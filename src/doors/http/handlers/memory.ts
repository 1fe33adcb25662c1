/** Handlers for the memory of workspaces (M3). */
import { toWireFact } from "../../../protocol/workspaces/memory.ts";
import { answer, type HandlerDependencies, type RouteHandlers } from "./handler.ts";

type MemoryRoute = "listFacts" | "addFact" | "getFact" | "changeFact" | "forgetFact";

export function memoryHandlers({
  engine: {
    workspaceSessions: { memory },
  },
}: HandlerDependencies): RouteHandlers<MemoryRoute> {
  return {
    listFacts: async ({ caller, params: { workspace } }) => {
      const { facts, faults } = await memory.list(caller, workspace);
      return answer("listFacts", { facts: facts.map(toWireFact), faults });
    },
    addFact: async ({ caller, params: { workspace: workspaceId }, body: { text, sourceTurnId = null } }) =>
      answer("addFact", toWireFact(await memory.add(caller, { workspaceId, text, sourceTurnId }))),
    getFact: async ({ caller, params: { workspace: workspaceId, fact: id } }) =>
      answer("getFact", toWireFact(await memory.get(caller, { workspaceId, id }))),
    changeFact: async ({ caller, params: { workspace: workspaceId, fact: id }, body: { text, expectedHash } }) => {
      const change = { workspaceId, id, text, ...(expectedHash !== undefined && { expectedHash }) };
      return answer("changeFact", toWireFact(await memory.change(caller, change)));
    },
    forgetFact: async ({ caller, params: { workspace: workspaceId, fact: id } }) =>
      answer("forgetFact", await memory.forget(caller, { workspaceId, id })),
  };
}
