/** The routes of the memory of workspaces (M3). */
import {
  factEditSchema,
  factParamsSchema,
  factSchema,
  factStartSchema,
  forgottenSchema,
  memoryParamsSchema,
  memorySchema,
} from "../workspaces/memory.ts";
import type { RouteName } from "./paths.ts";
import type { RouteSpec } from "./route-spec.ts";
import { workspaceFaults } from "./workspaces.ts";

export const memoryRoutes = {
  listFacts: {
    summary: "Lists the facts that the sessions of a workspace are given.",
    access: "read",
    params: memoryParamsSchema,
    status: 200,
    answer: memorySchema,
    errors: workspaceFaults,
  },
  addFact: {
    summary: "Adds a fact to the memory of a workspace. If there is one with the same text, it is returned.",
    access: "write",
    params: memoryParamsSchema,
    body: factStartSchema,
    status: 201,
    answer: factSchema,
    errors: ["fact_invalid", "storage_full", ...workspaceFaults],
  },
  getFact: {
    summary: "Returns a fact.",
    access: "read",
    params: factParamsSchema,
    status: 200,
    answer: factSchema,
    errors: workspaceFaults,
  },
  changeFact: {
    summary: "Replaces the text of a fact. The model gets the new text with its next turn.",
    access: "write",
    params: factParamsSchema,
    body: factEditSchema,
    status: 200,
    answer: factSchema,
    errors: ["fact_invalid", "fact_changed", "storage_full", ...workspaceFaults],
  },
  forgetFact: {
    summary: "Removes a fact from the memory and from every later request, and names the turns that were given it.",
    access: "write",
    params: factParamsSchema,
    status: 200,
    answer: forgottenSchema,
    errors: workspaceFaults,
  },
} as const satisfies Partial<Record<RouteName, RouteSpec>>;
