// Asks the search of the built site, with the worker that its pages run: node website/search.mjs SITE QUERY...
// Prints, as JSON, the pages of each query, the best first.

import fs from "node:fs";
import path from "node:path";
import vm from "node:vm";

const [site, ...queries] = process.argv.slice(2);
const folder = path.join(site, "assets", "javascripts", "workers");
const name = fs.readdirSync(folder).find((file) => /^search\..*\.js$/.test(file));

let asked;
let answered;
const worker = {
  console,
  addEventListener: (kind, listener) => {
    asked = listener;
  },
  postMessage: (message) => answered(message),
};
worker.self = worker;
vm.runInContext(fs.readFileSync(path.join(folder, name), "utf8"), vm.createContext(worker));

const answer = (type, data) =>
  new Promise((resolve) => {
    answered = (message) => resolve(message.data);
    asked({ data: { type, data } });
  });

const index = JSON.parse(fs.readFileSync(path.join(site, "search", "search_index.json"), "utf8"));
await answer(0, { ...index, options: {} });
const found = {};
for (const query of queries) {
  const { items } = await answer(2, query);
  found[query] = items.map(([page]) => page.location.split("#")[0]);
}
console.log(JSON.stringify(found, null, 1));
