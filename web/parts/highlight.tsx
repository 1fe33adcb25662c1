/** The highlighter, which is loaded when the first code is shown. Its token tree becomes elements, never HTML text. */
import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import markdown from "highlight.js/lib/languages/markdown";
import php from "highlight.js/lib/languages/php";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import type { ComponentChildren } from "preact";

const languages = {
  bash,
  c,
  cpp,
  csharp,
  css,
  diff,
  go,
  java,
  javascript,
  json,
  markdown,
  php,
  python,
  ruby,
  rust,
  sql,
};
for (const [name, language] of Object.entries({ ...languages, typescript, xml, yaml })) {
  hljs.registerLanguage(name, language);
}

interface Scope {
  scope?: string;
  children: (Scope | string)[];
}

export function highlight(text: string, language: string): ComponentChildren {
  const name = (language.split(/[\s{,]/)[0] ?? "").toLowerCase();
  if (hljs.getLanguage(name) === undefined) return text;
  const { _emitter } = hljs.highlight(text, { language: name, ignoreIllegals: true });
  // The tree is beside the HTML in an internal field; without it the code has no colours.
  const { rootNode } = _emitter as unknown as { rootNode?: Scope };
  return rootNode === undefined ? text : rootNode.children.map(element);
}

function element(node: Scope | string): ComponentChildren {
  if (typeof node === "string") return node;
  const children = node.children.map(element);
  return node.scope === undefined ? children : <span class={`hl-${node.scope.split(".")[0]}`}>{children}</span>;
}
