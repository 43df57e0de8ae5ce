import { isConfigKey, locateHost, mergeConfig, readConfig, SETTINGS } from "../../../paths/index.ts";
import { UsageError } from "../../sdk/index.ts";
import type { Command } from "../command.ts";
import { located } from "../located.ts";

/** Settings in force and where each comes from; reads the host's file, needs no daemon. */
export const command: Command = {
  usage: "config get [KEY]",
  words: [0, 1],
  async run(context) {
    const [key] = context.positionals;
    if (key !== undefined && !isConfigKey(key))
      throw new UsageError(`unknown setting "${key}"; known: ${Object.keys(SETTINGS).join(", ")}`);
    const { config, sources } = mergeConfig({}, context.env, readConfig(locateHost(located(context), context.env).config));
    const { out } = context;
    const shown = (name: keyof typeof config): string => {
      const value = config[name];
      if (Array.isArray(value)) return value.join(",");
      return typeof value === "object" ? JSON.stringify(value) : String(value);
    };
    if (context.json) out.json(key === undefined ? config : { [key]: config[key] });
    else if (key !== undefined) out.line(shown(key));
    else
      out.table(
        ["setting", "value", "from", "what it does"],
        Object.keys(SETTINGS)
          .filter(isConfigKey)
          .map((name) => [name, shown(name), sources[name], SETTINGS[name].about]),
      );
  },
};
