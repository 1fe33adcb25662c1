/**
 * What a browser finds at `/` and `/pair`: a short answer for people. It needs no key and shows nothing of the server but
 * its name. The code of a pairing link stands behind `#`, so the browser does not send it.
 */
const fronts = {
  "/": {
    title: "aptove",
    lines: [
      "This is an aptove server. It keeps sessions with language models.",
      "In a terminal: aptove chat, or aptove ask.",
      "In an editor: start aptove acp as the agent.",
      "For programs: the HTTP interface is described at /openapi.json. Each request needs an API key.",
    ],
  },
  "/pair": {
    title: "Pair a device with aptove",
    lines: [
      "The link that you opened has a pairing code behind the # sign. The code is valid once, for a few minutes.",
      "Enter this address and the code in the ACP client or the program that you want to pair.",
      "It sends them to POST /api/devices/pair, and gets a token of its own, which can be revoked.",
    ],
  },
} as const;

export type FrontPath = keyof typeof fronts;
export const frontPaths = Object.keys(fronts) as FrontPath[];

/** Answers with HTML if the client asks for it, else with text. */
export function frontPage(path: FrontPath, accept: string | null): Response {
  const { title, lines } = fronts[path];
  if (accept?.includes("text/html") !== true) {
    const headers = { "content-type": "text/plain; charset=utf-8" };
    return new Response([title, "", ...lines, ""].join("\n"), { headers });
  }
  const paragraphs = lines.map((line) => `<p>${line}</p>`).join("\n");
  const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<h1>${title}</h1>
${paragraphs}
</html>
`;
  return new Response(page, {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
      "referrer-policy": "no-referrer",
    },
  });
}
