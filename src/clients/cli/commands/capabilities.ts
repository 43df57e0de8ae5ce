import type { Command } from "../command.ts";
import { list, text, texts } from "../output.ts";

/** What works here for this principal. */
export const command: Command = {
  usage: "capabilities",
  async run(context) {
    const answer = await context.session().run("capabilities");
    const { out } = context;
    if (context.json) {
      out.json(answer);
      return;
    }
    out.facts([
      ["version", text(answer, "version")],
      ["protocol", text(answer, "protocol")],
      ["principal", text(answer, "principal")],
      ["scopes", texts(answer, "scopes").join(" ")],
    ]);
    out.line();
    const operations = list(answer, "operations").map((row) => ["name", "field", "kind", "scope"].map((name) => text(row, name)));
    out.table(["operation", "field", "kind", "scope"], operations);
    out.line();
    out.table(
      ["limit", "value", "unit"],
      list(answer, "limits").map((row) => ["name", "value", "unit"].map((name) => text(row, name))),
    );
    out.line();
    out.table(
      ["feature", "value", "note"],
      list(answer, "features").map((row) => ["name", "value", "note"].map((name) => text(row, name))),
    );
  },
};
