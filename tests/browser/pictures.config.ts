// Makes the pictures in docs/pictures from the running app. Not part of the gate: `npm run pictures`.

import { defineConfig } from "@playwright/test";

import tests from "./playwright.config.ts";

export default defineConfig({ ...tests, testDir: "pictures", workers: 1, use: { ...tests.use, viewport: { width: 1440, height: 900 } } });
