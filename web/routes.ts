/** The address of the page as data, and links that change it without loading the page again. */
import { computed, signal } from "@preact/signals";
import { pagePaths, type PageName } from "../src/protocol/page-paths.ts";

export interface Route {
  name: PageName | "unknown";
  params: Record<string, string>;
  query: URLSearchParams;
}

const address = signal(location.pathname + location.search);

export const route = computed<Route>(() => routeOf(new URL(address.value, location.origin)));

function routeOf({ pathname, searchParams }: URL): Route {
  const parts = pathname.split("/").filter((part) => part !== "");
  for (const [name, pattern] of Object.entries(pagePaths) as [PageName, string][]) {
    const params = paramsOf(pattern, parts);
    if (params !== null) return { name, params, query: searchParams };
  }
  return { name: "unknown", params: {}, query: searchParams };
}

function paramsOf(pattern: string, parts: readonly string[]): Record<string, string> | null {
  const wanted = pattern.split("/").filter((part) => part !== "");
  if (wanted.length !== parts.length) return null;
  const params: Record<string, string> = {};
  for (const [at, want] of wanted.entries()) {
    const part = decoded(parts[at] ?? "");
    if (part === null) return null;
    if (want.startsWith(":")) params[want.slice(1)] = part;
    else if (want !== part) return null;
  }
  return params;
}

/** Null: it is not a part of an address, for example because a link was cut. */
function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}

/** Returns an address of the page. */
export function pathTo(
  name: PageName,
  params: Record<string, string> = {},
  query: Record<string, string> = {},
): string {
  const path = pagePaths[name].replaceAll(/:(\w+)/g, (_all, key: string) => encodeURIComponent(params[key] ?? ""));
  const search = new URLSearchParams(query).toString();
  return search === "" ? path : `${path}?${search}`;
}

export function navigate(to: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  address.value = location.pathname + location.search;
}

addEventListener("popstate", () => (address.value = location.pathname + location.search));

/** Follows links of the page itself without loading it again. A click that asks for a new tab keeps its meaning. */
document.addEventListener("click", (event) => {
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  if (link === null || event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  if (link.origin !== location.origin || link.target !== "" || link.hasAttribute("download")) return;
  event.preventDefault();
  navigate(link.pathname + link.search);
});
