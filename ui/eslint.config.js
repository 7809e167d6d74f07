import svelte from "eslint-plugin-svelte";
import globals from "globals";
import ts from "typescript-eslint";

import svelteConfig from "./svelte.config.js";

// The page reaches its owner through one module only.
const platformOnly = {
  "no-restricted-imports": [
    "error",
    { patterns: [{ group: ["@tauri-apps/*"], message: "Only src/platform talks to the window." }] },
  ],
};

export default ts.config(
  { ignores: ["dist", "node_modules", "src/platform/generated", "test-results"] },
  ...ts.configs.strict,
  ...svelte.configs.recommended,
  {
    languageOptions: { globals: globals.browser },
    rules: {
      "@typescript-eslint/no-explicit-any": "error",
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
      "@typescript-eslint/no-non-null-assertion": "error",
      eqeqeq: ["error", "always", { null: "ignore" }],
      ...platformOnly,
    },
  },
  {
    files: ["**/*.svelte", "**/*.svelte.ts"],
    languageOptions: { parserOptions: { parser: ts.parser, svelteConfig } },
    rules: { "svelte/no-at-html-tags": "off", "svelte/prefer-svelte-reactivity": "off" },
  },
  { files: ["src/platform/**"], rules: { "no-restricted-imports": "off" } },
  { files: ["*.config.*", "tests/shots/**"], languageOptions: { globals: globals.node } },
);
