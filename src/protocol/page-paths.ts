/** The addresses of the page (U1). The server answers each of them with the same document, and the page shows what it names. */
export const pagePaths = {
  sessions: "/",
  pair: "/pair",
  signedIn: "/signed-in",
  session: "/s/:session",
  turn: "/s/:session/t/:turn",
  compare: "/compare/:a/:b",
  several: "/several",
  map: "/map",
  approvals: "/approvals",
  costs: "/costs",
  admin: "/admin",
  adminPart: "/admin/:part",
  workspace: "/admin/workspaces/:workspace",
  context: "/admin/contexts/:kind/:name",
} as const;

export type PageName = keyof typeof pagePaths;

/** Prefix of the files that the document loads. Their names have a hash of their content. */
export const assetsPath = "/assets/";
