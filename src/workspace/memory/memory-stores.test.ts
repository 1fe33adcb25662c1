import { factStoreSuite } from "../fact-store.suite.ts";
import { bindingStoreSuite } from "../binding-store.suite.ts";
import { workspaceStoreSuite } from "../workspace-store.suite.ts";
import { memoryFacts } from "./memory-facts.ts";
import { memoryBindings } from "./memory-bindings.ts";
import { memoryWorkspaces } from "./memory-workspaces.ts";

workspaceStoreSuite("workspaces in memory", () => ({ store: memoryWorkspaces(), reopen: null, damage: null }));
bindingStoreSuite("bindings in memory", () => ({ store: memoryBindings(), reopen: null }));
factStoreSuite("facts in memory", async () => {
  const workspaces = memoryWorkspaces();
  await workspaces.create({ id: "default", at: 0 });
  return { store: memoryFacts(workspaces), reopen: null };
});
