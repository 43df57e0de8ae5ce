import type { Command } from "../command.ts";
import { NotAsTold, type OwnStage, openStage } from "../demo/stage.ts";
import { tellStory } from "../demo/story.ts";
import { EXIT } from "../run.ts";

/** Exit status of a demo that was interrupted, as a shell tells it. */
const LEFT = 130;

/** Shows two agents in one file, with real requests to a daemon of its own, and leaves nothing behind. */
export const command: Command = {
  usage: "demo",
  bare: true,
  async run({ out, err }) {
    let stage: OwnStage | undefined;
    let leaving = false;
    const left = (): void => {
      // The stage takes itself away when the process exits, but its daemon only once that told its id: while it starts, it is waited for.
      if (stage !== undefined || leaving) process.exit(LEFT);
      leaving = true;
    };
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, left);
    try {
      stage = await openStage(out);
      if (leaving) return LEFT;
      out.line(`Two agents, alice and bob, in ${stage.root}: a copy of a small project, with a daemon of its own.`);
      out.line("Each request and each answer below is a real one.");
      await tellStory(stage);
      out.line();
      out.line("All of it went as told. Daemon and directory are taken away again.");
      return EXIT.done;
    } catch (thrown) {
      if (!(thrown instanceof NotAsTold)) throw thrown;
      err.line(`gin: ${thrown.message}`);
      return EXIT.refused;
    } finally {
      await stage?.close();
      for (const signal of ["SIGINT", "SIGTERM"] as const) process.removeListener(signal, left);
    }
  },
};
