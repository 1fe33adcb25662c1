/** Stores bindings in `bindings.toml` of the data folder. Every call reads the file; every change replaces it under one lock (W2, B4). */
import { isTable } from "../../system/guards.ts";
import { checkDeviceId, type DeviceBinding, type BindingStore } from "../binding-store.ts";
import { checkWorkspaceId, isWorkspaceId } from "../workspace-store.ts";
import { TomlFile, type TomlTable } from "./toml-file.ts";
import { withWorkspaceLock } from "./workspace-lock.ts";
import { bindingsLock, type WorkspaceFolders } from "./workspace-paths.ts";

const heading = "The workspace of each device. aptove writes this file.";
const fix =
  "correct the file, or move it to another folder; then each device gets a new workspace when it connects again";

/** Returns the store. No file is read or written before the first call. */
export function fileBindings(data: Pick<WorkspaceFolders, "bindings" | "locks">): BindingStore {
  return new FileBindings(data);
}

/** The content of the file: the bindings, and all other keys. */
interface BindingsContent {
  bindings: Map<string, string>;
  rest: TomlTable;
}

class FileBindings implements BindingStore {
  readonly #file: TomlFile;
  readonly #lock: string;

  constructor(data: Pick<WorkspaceFolders, "bindings" | "locks">) {
    this.#file = new TomlFile(data.bindings, { code: "bindings_damaged", fix });
    this.#lock = bindingsLock(data);
  }

  async resolve(deviceId: string): Promise<string | null> {
    checkDeviceId(deviceId);
    return (await this.#read()).bindings.get(deviceId) ?? null;
  }

  async settle(deviceId: string, choose: (bound: string | null) => Promise<string>): Promise<string> {
    checkDeviceId(deviceId);
    return await this.#change(async (bindings) => {
      const chosen = await choose(bindings.get(deviceId) ?? null);
      checkWorkspaceId(chosen);
      bindings.set(deviceId, chosen);
      return chosen;
    });
  }

  async bind(deviceId: string, workspaceId: string): Promise<void> {
    await this.settle(deviceId, () => Promise.resolve(workspaceId));
  }

  async unbind(deviceId: string): Promise<boolean> {
    checkDeviceId(deviceId);
    return await this.#change((bindings) => bindings.delete(deviceId));
  }

  async unbindWorkspace(workspaceId: string): Promise<string[]> {
    checkWorkspaceId(workspaceId);
    return await this.#change((bindings) => {
      const devices = [...bindings].filter(([, bound]) => bound === workspaceId).map(([deviceId]) => deviceId);
      for (const deviceId of devices) bindings.delete(deviceId);
      return devices;
    });
  }

  async list(): Promise<DeviceBinding[]> {
    const { bindings } = await this.#read();
    return [...bindings].map(([deviceId, workspaceId]) => ({ deviceId, workspaceId }));
  }

  async #change<T>(change: (bindings: Map<string, string>) => T | Promise<T>): Promise<T> {
    return await withWorkspaceLock(this.#lock, async () => {
      const { bindings, rest } = await this.#read();
      const before = new Map(bindings);
      const outcome = await change(bindings);
      if (!isEqual(before, bindings)) {
        await this.#file.write(heading, { ...rest, bindings: Object.fromEntries(bindings) });
      }
      return outcome;
    });
  }

  async #read(): Promise<BindingsContent> {
    const { bindings: table = {}, ...rest } = this.#file.read() ?? {};
    if (!isTable(table)) throw this.#file.damaged("bindings must be a table");
    const bindings = new Map<string, string>();
    for (const [deviceId, workspaceId] of Object.entries(table)) {
      if (typeof workspaceId !== "string" || !isWorkspaceId(workspaceId)) {
        throw this.#file.damaged(`bindings.${JSON.stringify(deviceId)} is not the id of a workspace`);
      }
      bindings.set(deviceId, workspaceId);
    }
    return { bindings, rest };
  }
}

function isEqual(one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): boolean {
  return one.size === other.size && [...one].every(([key, value]) => other.get(key) === value);
}
