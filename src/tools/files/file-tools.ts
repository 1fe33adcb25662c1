/** The agent's tools for files: read, list, search, write, edit, in the folders of one session (P5, P4). */
import { SessionFolders, type SessionFoldersOptions } from "../session-folders.ts";
import type { FileAccess } from "../session-tools.ts";
import type { Tool } from "../tool.ts";
import { editTool } from "./edit-tool.ts";
import { SeenFiles, type FilesSession } from "./files-session.ts";
import { listTool } from "./list-tool.ts";
import { readTool } from "./read-tool.ts";
import { searchTool } from "./search-tool.ts";
import { TextFiles } from "./text-files.ts";
import { writeTool } from "./write-tool.ts";

export interface FileToolsOptions extends SessionFoldersOptions {
  /** In place of the disk where a file is read or written; lists and searches are always the disk's. */
  files?: Partial<FileAccess>;
}

/** For one session: they remember which files the model has seen. */
export function fileTools(options: FileToolsOptions): Tool[] {
  const session: FilesSession = {
    folders: new SessionFolders(options),
    texts: new TextFiles(options.files),
    seen: new SeenFiles(),
  };
  return [readTool, listTool, searchTool, writeTool, editTool].map((make) => make(session));
}
