/** The symbols that syntax nodes define, by the node types and fields of the grammars that we load. */
import type { Node } from "web-tree-sitter";

/** Node types whose field `name` is the symbol. */
const named = new Set(
  `function_declaration generator_function_declaration function_signature class_declaration abstract_class_declaration
interface_declaration enum_declaration type_alias_declaration internal_module module method_definition method_signature
abstract_method_signature function_definition class_definition type_spec type_alias const_spec
var_spec method_declaration function_item struct_item enum_item union_item trait_item mod_item type_item const_item
static_item macro_definition function_signature_item class_specifier struct_specifier enum_specifier union_specifier
namespace_definition preproc_def preproc_function_def record_declaration annotation_type_declaration
constructor_declaration class method singleton_method trait_declaration namespace_declaration
file_scoped_namespace_declaration struct_declaration delegate_declaration`.split(/\s+/),
);

/** Node types that only wrap a definition: the definition is in this field, or is the first child with a name. */
const wrappers: Record<string, string | null> = {
  export_statement: "declaration",
  ambient_declaration: null,
  expression_statement: null,
  decorated_definition: "definition",
  template_declaration: null,
  type_declaration: null,
  const_declaration: null,
  var_declaration: null,
};

/** Returns the definition inside a wrapper such as `export …`, or the node itself if it is no wrapper. */
export function unwrap(node: Node): Node {
  const field = wrappers[node.type];
  if (field === undefined) return node;
  const inner = field === null ? onlyDefinition(node) : node.childForFieldName(field);
  return inner === null ? node : unwrap(inner);
}

function onlyDefinition(node: Node): Node | null {
  const definitions = node.namedChildren.filter((child) => ownName(child) !== null);
  return definitions.length === 1 ? (definitions[0] ?? null) : null;
}

/** Returns the qualified symbol, or null if the node defines nothing. `scope` is the symbol that contains it. */
export function symbolOf(node: Node, scope: string | null): string | null {
  const name = ownName(unwrap(node)) ?? variableName(unwrap(node), scope);
  if (name === null || scope === null) return name;
  // `const Store = class Store {…}` is one definition with one name.
  return scope === name || scope.endsWith(`.${name}`) ? scope : `${scope}.${name}`;
}

function ownName(node: Node): string | null {
  const name = named.has(node.type) ? node.childForFieldName("name") : null;
  if (name !== null) return goReceiver(node) + name.text;
  switch (node.type) {
    case "impl_item":
      return node.childForFieldName("type")?.text ?? null;
    case "function_definition":
    case "type_definition":
      return declaratorName(node);
    case "function_statement":
    case "class_statement":
    case "class_method_definition":
      return node.namedChildren.find((child) => /^(function|simple)_name$/.test(child.type))?.text ?? null;
    default:
      return null;
  }
}

/** Returns `Turn.` for a method of `*Turn`. Go writes methods beside their type, not in it. */
function goReceiver(node: Node): string {
  const receiver = node.type === "method_declaration" ? node.childForFieldName("receiver") : null;
  const type = /([\p{L}\p{N}_]+)(?:\[.*\])?\s*\)$/u.exec(receiver?.text ?? "")?.[1];
  return type === undefined ? "" : `${type}.`;
}

/** Returns the name of a C or C++ definition, which is wrapped in declarators: `int *Session::head(void)`. */
function declaratorName(node: Node): string | null {
  let at = node.childForFieldName("declarator");
  for (let depth = 0; at !== null && depth < 16; depth += 1) {
    const inner = at.childForFieldName("declarator");
    if (inner === null) return at.type.endsWith("identifier") ? at.text : null;
    at = inner;
  }
  return null;
}

/** Returns the name of a variable. Variables are symbols at the top of a file, and elsewhere only if they hold a function or a class. */
function variableName(node: Node, scope: string | null): string | null {
  if (/^(lexical|variable)_declaration$/.test(node.type)) {
    const declarator = node.namedChildren.find((child) => child.type === "variable_declarator");
    const value = declarator?.childForFieldName("value")?.type ?? "";
    if (scope !== null && !/function|^class$/.test(value)) return null;
    return identifier(declarator?.childForFieldName("name") ?? null);
  }
  if (scope !== null) return null;
  if (node.type === "assignment") return identifier(node.childForFieldName("left"));
  if (node.type !== "expression_statement") return null;
  const assignment = node.namedChildren.find((child) => child.type.startsWith("assignment"));
  return identifier(assignment?.childForFieldName("left") ?? null);
}

/** Returns a name, or a short path of names. Null for a pattern or a computed target. */
function identifier(node: Node | null): string | null {
  if (node === null) return null;
  const text = node.text;
  return /^[\p{L}\p{N}_$.#]{1,100}$/u.test(text) ? text : null;
}
