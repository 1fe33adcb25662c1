import { bindingStoreSuite } from "../binding-store.suite.ts";
import { workspaceStoreSuite } from "../workspace-store.suite.ts";
import { memoryBindings } from "./memory-bindings.ts";
import { memoryWorkspaces } from "./memory-workspaces.ts";

workspaceStoreSuite("workspaces in memory", () => ({ store: memoryWorkspaces(), reopen: null, damage: null }));
bindingStoreSuite("bindings in memory", () => ({ store: memoryBindings(), reopen: null }));
