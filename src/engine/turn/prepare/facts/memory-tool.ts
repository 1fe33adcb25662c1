/**
 * The tool `remember`, with which a model writes a fact into the memory of the workspace (M3). It asks a person like any
 * write. It runs beside the engine, so it works at every door.
 */
import { AptoveError } from "../../../../domain/errors.ts";
import { checkedFact, type FactStore } from "../../../../domain/fact.ts";
import { rememberedResult, rememberTool } from "../../../../domain/remembered.ts";
import { describedTool } from "../../../../tools/described-tool.ts";
import { textArgument, toolParameters } from "../../../../tools/parameters.ts";
import { ToolFault } from "../../../../tools/tool-fault.ts";
import type { Tool } from "../../../../tools/tool.ts";

const parameters = toolParameters(() => ({
  fact: textArgument("The fact, in one to three sentences that can be understood without this conversation."),
}));

const about =
  "Write a fact into the memory of this workspace, which later sessions of the workspace are given. Use it for what lasts and cannot be read " +
  "in the code: a decision, a preference, how something is done here; and when the person asks you to remember something. " +
  "Never write down a secret. The person sees the text, and is asked first.";

interface MemoryOfTurn {
  store: FactStore;
  workspaceId: string;
  now(): number;
}

export function memoryTool({ store, workspaceId, now }: MemoryOfTurn): Tool {
  return describedTool({
    name: rememberTool,
    about,
    effect: "write",
    parameters,
    view: async ({ fact }) => ({
      title: "Remember a fact in this workspace",
      kind: "edit",
      locations: [],
      content: [{ type: "text", text: checked(fact) }],
      permission: null,
    }),
    run: async ({ fact }, { sessionId, turnId }) => {
      const text = checked(fact);
      try {
        const { id } = await store.add(workspaceId, { text, at: now(), source: { sessionId, turnId } });
        return { output: rememberedResult({ id, workspaceId }), isError: false };
      } catch (error) {
        if (!(error instanceof AptoveError)) throw error;
        throw new ToolFault(error.detail);
      }
    },
  });
}

function checked(fact: string): string {
  try {
    return checkedFact(fact);
  } catch (error) {
    if (!(error instanceof AptoveError)) throw error;
    throw new ToolFault(error.detail);
  }
}
