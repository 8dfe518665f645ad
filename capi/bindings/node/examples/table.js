// Answers the rows of a table from the standard input, with a model that takes columns of strings and numbers by name, as
// adult.py trains one. Cells have no quotes.   node table.js MODEL.keras < table.csv
import { readFileSync } from "node:fs";
import { Model } from "dl4";

const model = await Model.load(process.argv[2]);
const [names, ...rows] = readFileSync(0, "utf8")
  .trim()
  .split(/\r?\n/)
  .map((line) => line.split(","));
const inputs = {};
for (const { name, dtype } of model.inputs) {
  const at = names.indexOf(name);
  if (at < 0) throw new Error(`the table has no column ${name}`);
  inputs[name] = rows.map((row) => [dtype === "string" ? row[at] : Number(row[at])]);
}
const answers = await model.predict(inputs);
for (const answer of answers.data) console.log(answer.toFixed(9));
