/**
 * The sign-in of a browser (U2). The secret of its key is cut in two. One half is in an HttpOnly, SameSite=Strict cookie, which no
 * script can read. The other half is in the storage of the page's origin and comes with each request in a header. Cookies
 * are shared by all ports of a host, storage is not: a server on another port gets the cookie and can do nothing with it.
 * Neither half alone is a key, and each has more than 120 random bits.
 */
import { limits } from "../../../domain/limits.ts";

export const pageHeader = "x-aptove-page";
const halfLength = 22;

/** The cookie to set, and the value of the header that belongs to it. */
export interface CutSecret {
  cookie: string;
  pageSecret: string;
}

/** Cuts the secret of a new key. Each key has a cookie of its own, because servers on other ports of the host set cookies too. */
export function cutSecret(request: Request, { keyId, secret }: { keyId: string; secret: string }): CutSecret {
  const name = keyId.slice(-12);
  const at = secret.length - halfLength;
  const maxAge = Math.floor(limits.browserSignInMs / 1_000);
  const cookie = setCookie(request, name, { value: secret.slice(0, at), maxAge });
  return { cookie, pageSecret: `${name}.${secret.slice(at)}` };
}

/** Returns the header that removes the cookie of the request. Null if it has none. */
export function removedCookie(request: Request): string | null {
  const { name } = pageSecretOf(request) ?? {};
  return name === undefined ? null : setCookie(request, name, { value: "", maxAge: 0 });
}

function setCookie(request: Request, name: string, { value, maxAge }: { value: string; maxAge: number }): string {
  // A browser names the page's origin in a request that changes something, so this is right behind a proxy with TLS too.
  const secure = request.headers.get("origin")?.startsWith("https:") === true ? "; Secure" : "";
  return `aptove_${name}=${value}; Path=/api; HttpOnly; SameSite=Strict; Max-Age=${maxAge}${secure}`;
}

/** Returns the secret that the cookie and the header of a page's request make together. */
export function secretOfPage(request: Request): string | undefined {
  // Every browser that has this header says truthfully which page sends the request.
  const site = request.headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin") return undefined;
  const page = pageSecretOf(request);
  if (page === null) return undefined;
  const cookies = (request.headers.get("cookie") ?? "").split(";").map((one) => one.trim());
  const mine = cookies.find((one) => one.startsWith(`aptove_${page.name}=`));
  return mine === undefined ? undefined : mine.slice(mine.indexOf("=") + 1) + page.half;
}

function pageSecretOf({ headers }: Request): { name: string; half: string } | null {
  const [, name, half] = /^([0-9a-f]{12})\.([\w-]{22})$/.exec(headers.get(pageHeader) ?? "") ?? [];
  return name === undefined || half === undefined ? null : { name, half };
}
