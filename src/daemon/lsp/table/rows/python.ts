import type { ServerSpec } from "../types.ts";

const LANGUAGES = { ".py": "python", ".pyi": "python" };
const MARKERS = ["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile", "pyrightconfig.json"];

/** What says which interpreter is the user's own. */
const PASSES = ["VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT"];

/** It says so once it has listed the project's files. */
const LISTED = /^(?:Found \d+ source files?|No source files found)/;

/** The interpreter of the daemon's own PATH, never one that the workspace holds. */
const SYSTEM_PYTHON = { python: { pythonPath: "python3" } };

function pyright(id: string, program: string, install: string): ServerSpec {
  return {
    id,
    languages: LANGUAGES,
    commands: [[program, "--stdio"]],
    install,
    markers: MARKERS,
    folder: "root",
    readiness: {
      kind: "notification",
      method: "window/logMessage",
      ready: (params) => LISTED.test(String((params as { readonly message?: unknown } | null)?.message)) || undefined,
    },
    settings: { python: { analysis: { diagnosticMode: "openFilesOnly", autoSearchPaths: true } } },
    asksSettings: true,
    untrusted: { settings: SYSTEM_PYTHON },
    runs: "the Python interpreter in use, isolated, to learn where its packages are; of a trusted workspace that may be one in a virtual environment inside it",
    wholeProject: true,
    early: true,
    projects: "pyright",
    passes: PASSES,
  };
}

/** Servers of Python, the first installed of which is used. */
export const pythonServers: readonly ServerSpec[] = [
  pyright("pyright", "pyright-langserver", "npm install --global pyright"),
  pyright("basedpyright", "basedpyright-langserver", "pip install basedpyright"),
  {
    id: "pylsp",
    languages: LANGUAGES,
    commands: [["pylsp"]],
    install: "pip install python-lsp-server (Debian: apt install python3-pylsp)",
    markers: MARKERS,
    folder: "root",
    readiness: { kind: "answers" },
    untrusted: {
      settings: {
        pylsp: {
          plugins: {
            jedi: { auto_import_modules: [], environment: null },
            // These run code that a project's configuration names: plugins, init-hook, .ropeproject/config.py.
            pylint: { enabled: false },
            flake8: { enabled: false },
            pylsp_mypy: { enabled: false },
            rope_completion: { enabled: false },
            rope_rename: { enabled: false },
            rope_autoimport: { enabled: false },
            pylsp_rope: { enabled: false },
          },
        },
      },
      env: { PYTHONSAFEPATH: "1" },
    },
    runs: "plugins of pylint, flake8 and mypy and the rope configuration that the project names; of an untrusted workspace those are switched off",
    // It lints in timers' threads. When one of its linters throws (the parser of Python 3.11.2 does, used in two threads) it has found nothing.
    beside: { failures: /Failed to (?:load|run) hook pylsp_lint/ },
    // It looks through a bounded number of files.
    wholeProject: false,
    passes: PASSES,
  },
];
