// Writes the TypeScript types of all kinds, as the library's registry has them:   node types.js lib/kinds.d.ts
import fs from "node:fs";

import { registry } from "./lib/abi.js";

const { every_layer, ...categories } = registry();
const common = new Set(every_layer.attributes.map((a) => a.name));
const names = {
  layer: "layers",
  loss: "losses",
  metric: "metrics",
  optimizer: "optimizers",
  initializer: "initializers",
  regularizer: "regularizers",
  constraint: "constraints",
  schedule: "schedules",
  callback: "callbacks",
};
const plain = { i64: "number", f64: "number", bool: "boolean", str: "string", json: "unknown", attrs: "string | Kind" };
Object.assign(plain, {
  i64s: "number | readonly number[]",
  f64s: "number | readonly number[]",
  strs: "readonly string[]",
  layer: "Layer",
  layers: "readonly Layer[]",
  tensor: "Node | null",
  tensors: "Node | readonly (Node | null)[]",
});

const comment = (text, indent = "  ") => `${indent}/** ${text.replaceAll("*/", "* /")} */\n`;

function typeOf({ name, type, category, enum: words, default: value, required }) {
  if (!(type in plain)) throw new Error(`no TypeScript type for ${type}`);
  if (name === "model") return "Model | object | null";
  let found = words && type === "str" ? words.map((w) => JSON.stringify(w)).join(" | ") : plain[type];
  if (category && !type.startsWith("layer")) found += " | string | Kind";
  if (value === null && !required) found += " | null";
  if (name === "merge_mode") found += " | null";
  return [...new Set(found.split(" | "))].join(" | ");
}

function members(list) {
  return list.map((a) => `${comment(a.doc)}  ${a.name}${a.required ? "" : "?"}: ${typeOf(a)};\n`).join("");
}

/** What calling a layer gives: one value, or several if there are more, always or by an attribute or argument. */
function called(kind, facts) {
  const args = facts.arguments.length ? `${kind}Arguments` : "{}";
  const [first, ...others] = facts.outputs;
  if (!first || (others.length && others.some((o) => !o.if))) return [`${kind}Config`, `Layer<${args}, Node[]>`];
  const flag = others[0]?.if;
  if (facts.arguments.some((a) => a.name === flag)) {
    const both = `Layer<${args} & { ${flag}?: false }> & Layer<${args} & { ${flag}: true }, Node[]>`;
    return [`${kind}Config`, both];
  }
  const when = flag && (flag.endsWith(" null") ? `{ ${flag.slice(0, -5)}: null }` : `{ ${flag}: true }`);
  if (when && facts.attributes.some((a) => a.name === flag.replace(" null", ""))) {
    return [`C`, `Layer<${args}, C extends ${when} ? Node[] : Node>`, `<const C extends ${kind}Config>`];
  }
  return [`${kind}Config`, `Layer<${args}>`];
}

function layer([kind, facts]) {
  const needed = facts.attributes.some((a) => a.required);
  const [config, result, generic = ""] = called(kind, facts);
  const call = `${comment(facts.doc)}  ${kind}${generic}(config${needed ? "" : "?"}: ${config}): ${result};\n`;
  const args = facts.arguments.length
    ? `export interface ${kind}Arguments extends CallArguments {\n${members(facts.arguments)}}\n`
    : "";
  const own = facts.attributes.map((a) => a.name).filter((name) => common.has(name)); // of this kind's own type
  const base = own.length ? `Omit<LayerConfig, ${own.map((name) => JSON.stringify(name)).join(" | ")}>` : "LayerConfig";
  return [`export interface ${kind}Config extends ${base} {\n${members(facts.attributes)}}\n${args}`, call];
}

function setting(category) {
  return ([kind, facts]) => {
    const name = `${category[0].toUpperCase()}${category.slice(1)}${kind}`;
    const needed = facts.attributes.some((a) => a.required);
    const doc = comment(facts.doc ?? kind);
    return [
      `export interface ${name} {\n${members(facts.attributes)}}\n`,
      `${doc}  ${kind}(config${needed ? "" : "?"}: ${name}): Kind;\n`,
    ];
  };
}

function category([key, name]) {
  const made = Object.entries(categories[key]).map(key === "layer" ? layer : setting(key));
  const type = name[0].toUpperCase() + name.slice(1);
  const [configs, calls] = [0, 1].map((i) => made.map((pair) => pair[i]).join(""));
  return `${configs}export interface ${type} {\n${calls}}\n`;
}

const text = `// Made by types.js from the library's registry.
import type { Kind, Layer, Model, Node } from "./index.js";
export interface LayerConfig {
${members(every_layer.attributes)}}
export interface CallArguments {
${members(every_layer.arguments)}}
${Object.entries(names).map(category).join("")}`;
fs.writeFileSync(process.argv[2], text);
