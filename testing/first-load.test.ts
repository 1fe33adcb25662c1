/** The size of the page's first load, as it was built with the sources (U11). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { findPage } from "../src/doors/http/page/find-page.ts";
import type { PageFile } from "../src/doors/http/page/page-files.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

test("[U1] [U11] the first load has at most 60 KB of script and 12 KB of styles, in four requests, all of them of this server", () => {
  const page = findPage(root) ?? assert.fail("the page is not built: npm run build");
  const html = gunzipSync(page.document.compressed.gzip).toString();
  const named = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = ""]) => path);
  assert.ok(
    named.every((path) => path.startsWith("/assets/")),
    named.join(" "),
  );
  assert.ok(!/<script(?![^>]* src=)|style=| on\w+=/.test(html), "nothing is inline");
  const size = (ending: string): Record<"br" | "gzip", number> => {
    const files = named
      .filter((path) => path.endsWith(ending))
      .map((path) => page.assets.get(path.slice("/assets/".length)));
    const sum = (encoding: "br" | "gzip"): number => files.reduce((all, file) => all + bytesOf(file, encoding), 0);
    return { br: sum("br"), gzip: sum("gzip") };
  };
  const [script, styles] = [size(".js"), size(".css")];
  for (const encoding of ["br", "gzip"] as const) {
    assert.ok(script[encoding] > 10_000 && script[encoding] <= 61_440, `script: ${script[encoding]} (${encoding})`);
    assert.ok(styles[encoding] > 1_000 && styles[encoding] <= 12_288, `styles: ${styles[encoding]} (${encoding})`);
  }
  // The document, the script in two files, and the styles. The icon is not needed for the first picture.
  assert.ok(named.filter((path) => !path.endsWith(".svg")).length <= 3, named.join(" "));
});

function bytesOf(file: PageFile | undefined, encoding: "br" | "gzip"): number {
  return file?.compressed[encoding].length ?? assert.fail("a file is missing");
}
